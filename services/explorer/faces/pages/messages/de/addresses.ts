import type { addresses as english } from '../en/addresses.js'

/** Words of addresses, wallets and labels, in German. */
export const addresses: typeof english = {
  address: {
    title: 'Adresse',
    csv: 'Alle Transaktionen als Tabelle, CSV',
    unused: 'Hier ist noch nichts angekommen. Sobald es das tut, zeigt es diese Seite.',
    balance: 'Guthaben',
    received: 'Empfangen',
    sent: 'Gesendet',
    transactions: 'Transaktionen',
    unspent: 'Nicht ausgegebene Ausgänge',
    firstSeen: 'Zuerst gesehen',
    scriptType: 'Art des Skripts',
    scriptHash: 'Skript-Hash',
    scriptHex: 'Skript, hexadezimal',
    keys: 'Öffentliche Schlüssel',
    ofKey: 'Weitere Skripte dieses öffentlichen Schlüssels',
    other: 'Andere Schreibweise',
    otherHint: 'Beide Schreibweisen bezeichnen dieselbe Adresse.',
    history: 'Verlauf',
    utxos: 'Nicht ausgegebene Ausgänge',
    balanceByBlock: 'Guthaben nach Block',
    balanceOverTime: 'Guthaben im Lauf der Zeit',
    qr: 'QR-Code der Adresse',
    protected: 'Ausgaben brauchen eine Dilithium-Signatur',
    change: 'Änderung',
    noHistory: 'Keine Transaktionen.',
    noUtxos: 'Keine nicht ausgegebenen Ausgänge.',
    coinbase: (height: string) => `neue Münzen, ausgebbar ab Block ${height}`,
    label: 'Name',
  },
  exposure: {
    title: 'Quantencomputer',
    atRisk: 'Gefährdet',
    shownBy: 'Gezeigt von',
    shownScript: 'Art des gezeigten Skripts',
    input: (index) => `Eingang ${index}`,
    output: (index) => `Ausgang ${index}`,
    reasons: {
      script: 'Das Skript selbst enthält den öffentlichen Schlüssel, für alle sichtbar.',
      spend: 'Eine Ausgabe hat den öffentlichen Schlüssel gezeigt.',
      scriptSpent: 'Eine Ausgabe hat das Skript gezeigt, mit allen Schlüsseln darin.',
      same_key:
        'Eine Transaktion eines anderen Skripts desselben Schlüssels hat den öffentlichen Schlüssel gezeigt.',
      unconfirmed: 'Eine unbestätigte Transaktion zeigt den öffentlichen Schlüssel.',
      hash: 'Die Kette zeigt nur den Hash des öffentlichen Schlüssels.',
      scriptHash: 'Die Kette zeigt nur den Hash eines Skripts, nicht seine öffentlichen Schlüssel.',
      dilithium:
        'Eine Ausgabe braucht eine Dilithium-Signatur; es ist nicht bekannt, dass Quantencomputer sie brechen können.',
      dilithiumSpends:
        'Jede Ausgabe enthielt eine Dilithium-Signatur; es ist nicht bekannt, dass Quantencomputer sie brechen können.',
    },
    advice: {
      move: 'Ein Computer, der private Schlüssel aus öffentlichen berechnet, könnte diese Münzen nehmen. Sicherer sind sie an einer Adresse, von der noch nie etwas ausgegeben wurde.',
      moveToDilithium:
        'Ein Computer, der private Schlüssel aus öffentlichen berechnet, könnte diese Münzen nehmen. Sicher sind sie an einer Dilithium- oder P2MR-Adresse.',
      empty: 'Hier liegen jetzt keine Münzen; was von nun an ankommt, ist gefährdet.',
      unconfirmed: 'Ist sie bestätigt, bleibt gefährdet, was hier übrig ist und was später ankommt.',
      hidden:
        'Die erste Ausgabe zeigt ihn: alles auf einmal ausgeben und hier nichts mehr empfangen. Ein anderswo bekannter Schlüssel, etwa ein erweiterter öffentlicher, ist nicht sicher.',
      once: 'Die erste Ausgabe zeigt ihn: hier nur einmal empfangen.',
    },
  },
  wallet: {
    title: 'Wallet',
    about:
      'Guthaben, Verlauf und nächste unbenutzte Adressen eines erweiterten öffentlichen Schlüssels (xpub, ypub, zpub) oder eines Output-Deskriptors.',
    privacy:
      'Wer den Schlüssel hat, sieht die ganze Wallet. Er wird im Inhalt der Anfrage gesendet, steht in keiner URL und wird nirgends gespeichert. Gib nie einen privaten Schlüssel oder die Wörter eines Seeds ein.',
    key: 'Erweiterter öffentlicher Schlüssel oder Output-Deskriptor',
    type: 'Art der Skripte',
    anyType: 'alle benutzten',
    gap: 'Gap-Limit',
    show: 'Anzeigen',
    refresh: 'Aktualisieren',
    used: 'Benutzte Adressen',
    next: 'Nächste unbenutzte Adressen',
    receive: 'Empfang',
    change: 'Wechselgeld',
    branch: 'Zweig',
    index: 'Index',
    incomplete: 'Es gibt mehr Adressen, als abgeleitet werden: Die Zahlen sind nicht vollständig.',
    tooMany: 'Die Adressen haben zu viele Transaktionen, um sie hier aufzulisten.',
    first: (shown: string, total: string) => `Die neuesten ${shown} von ${total}; die API hat alle.`,
  },
  labels: {
    title: 'Namen',
    about: 'Adressen, deren Eigentümer bekannt ist, wie der Betreiber dieses Explorers es eingetragen hat.',
    none: 'Der Betreiber hat keine Namen eingetragen.',
    link: 'Website',
  },
}
