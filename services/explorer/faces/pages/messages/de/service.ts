import type { service as english } from '../en/service.js'
import { either, n } from './grammar.js'

/** Words of the status, the API, search and errors, in German. */
export const service: typeof english = {
  status: {
    title: 'Zustand',
    about: 'Ob dieser Explorer auf dem neuesten Stand ist und ob sein Index dem Knoten gleicht.',
    state: 'Index',
    states: {
      live: 'Aktuell',
      syncing: 'Hinter dem Knoten',
      node_syncing: 'Der Knoten lädt die Kette',
      stalled: 'Steht still',
    },
    headers: 'Header des Knotens',
    database: 'Datenbank',
    databases: { connected: 'Verbunden', disconnected: 'Nicht erreichbar' },
    tip: 'Höhe des Index',
    node: 'Höhe des Knotens',
    same: 'Derselbe neueste Block wie der Knoten',
    unknown: 'zurzeit nicht bekannt',
    heartbeat: 'Letztes Lebenszeichen des Knotens',
    gaps: 'Was dieser Version des Knotens fehlt',
    audit: 'Laufende Prüfung',
    auditAt: 'Letzte Prüfung',
    checks: 'Prüfungen',
    differences: 'Abweichungen',
    noAudit: 'Noch keine Prüfung.',
    lags: 'Ereignisse, die noch zu verarbeiten sind',
    consumer: 'Empfänger',
    topic: 'Thema',
    lag: 'Warten',
    clients: 'Verbundene Clients',
    ports: 'Weitere Ports',
    error: 'Fehler',
  },
  api: {
    title: 'API',
    about: 'Jede Zahl dieser Seiten kommt aus dieser API. Hier können Sie jeden Endpunkt ausprobieren.',
    try: 'Ausprobieren',
    body: 'Inhalt, JSON',
    answer: 'Antwort',
    required: 'erforderlich',
    byDefault: (value) => `sonst ${value}`,
    field: 'Feld',
    meaning: 'Bedeutung',
    graphiql: 'viele Objekte mit einer Abfrage, im Browser auszuprobieren',
    port: (port) => `Port ${port}`,
    more: 'Die Dokumentation beschreibt die API, den Feed über WebSocket und gRPC.',
  },
  search: {
    title: 'Suche',
    examples:
      'Sie können nach der Höhe eines Blocks suchen, nach dem Hash eines Blocks oder einer Transaktion, nach einer Adresse, einem öffentlichen Schlüssel, einem Skript oder dessen Hash, nach Datum oder Uhrzeit (UTC), einem Mining-Pool oder nach einem Namen.',
    height: (height) => `Block ${height}`,
    firstFrom: (time) => `Erster Block ab ${time}`,
    later: (time) => `Es gibt noch keinen Block ab ${time}.`,
    wallet:
      'Das kann ein Schlüssel, ein Deskriptor oder der Seed einer Wallet sein. So etwas gehört in keine URL und wurde deshalb nicht gesucht. Die Seite „Wallet“ nimmt erweiterte öffentliche Schlüssel und Deskriptoren entgegen. Geben Sie private Schlüssel und die Wörter eines Seeds nirgends ein.',
    future: (height, tip) => `Block ${height} gibt es noch nicht. Der neueste ist ${tip}.`,
    hashLength: (length) => `Ein Hash hat 64 Zeichen, dies sind ${length}.`,
    hashUnknown:
      'Kein Block, keine Transaktion und kein Skript hat diesen Hash. Eine eben gesendete Transaktion erscheint nach einigen Sekunden.',
    notHex: (sign) =>
      `Dies ist so lang wie ein Hash, aber „${sign}“ ist keine hexadezimale Ziffer (0–9, a–f).`,
    keyUnknown:
      'Dies ist ein öffentlicher Schlüssel, aber die Kette hat weder ihn noch eine seiner Adressen je gesehen.',
    scriptUnknown:
      'Nichts hat diesen hexadezimalen Wert: Ein Hash hat 64 Ziffern, und keine Ausgabe hat ein Skript aus diesen Bytes.',
    addressUnknown: 'Dies ist eine gültige Adresse, aber die Kette hat sie noch nie gesehen.',
    checksum:
      'Dies sieht wie eine Adresse aus, aber die Prüfsumme ist falsch. Wahrscheinlich fehlt ein Zeichen oder ist vertippt.',
    otherChain: (others, own, beginnings) =>
      `Dies ist eine Adresse von ${either(others)}. Dieser Explorer zeigt ${own}, dessen Adressen mit ${either(beginnings)} beginnen.`,
    unknownChain: (own, beginnings) =>
      `Dies ist eine Adresse einer Kette, die dieser Explorer nicht kennt. Er zeigt ${own}, dessen Adressen mit ${either(beginnings)} beginnen.`,
    incomplete: 'Dies ist der Anfang einer Adresse: Der Rest fehlt.',
    unknown: (query) =>
      `„${query}“ ist weder Höhe, Zeit, Hash, Adresse noch Teil des Namens eines Mining-Pools oder einer Adresse.`,
    negative: 'Höhen beginnen bei 0.',
    tooLong: 'Das ist zu lang: eine Adresse, das Längste, wonach man suchen kann, hat 90 Zeichen.',
    unconfirmed: 'Unbestätigte Transaktion',
  },
  errors: {
    notFound: 'Nicht gefunden',
    noPage: 'Unter dieser Adresse gibt es keine Seite.',
    noBlock:
      'Diesen Block gibt es nicht. Er gehört vielleicht zu einer anderen Kette oder ist noch nicht gefunden.',
    noTransaction:
      'Diese Transaktion gibt es nicht. Wurde sie eben gesendet, erscheint sie hier, sobald der Knoten sie hat. Wurde sie vor längerer Zeit ersetzt oder ist sie verfallen, ist sie fort.',
    noLonger: 'Nicht mehr im Mempool',
    left: {
      replaced: 'Eine andere Transaktion hat diese ersetzt. Sie verließ den Mempool am {time}.',
      evicted:
        'Der Mempool war voll, und diese Transaktion zahlte zu wenig. Sie verließ den Mempool am {time}.',
      expired: 'Diese Transaktion hat zu lange auf einen Block gewartet. Sie verließ den Mempool am {time}.',
      unknown: 'Diese Transaktion verließ den Mempool aus unbekanntem Grund am {time}.',
    },
    replacement: 'Die Transaktion, die sie ersetzt hat',
    asItWas: 'Die Transaktion, wie sie war',
    noAddress: 'Diese Adresse oder dieses Skript hat noch nie etwas empfangen.',
    invalid: 'Diese Adresse kann nicht stimmen',
    badNumber: (name, from, to) =>
      to === undefined
        ? `„${name}“ in der Adresse dieser Seite muss eine ganze Zahl ab ${from} sein.`
        : `„${name}“ in der Adresse dieser Seite muss eine ganze Zahl von ${from} bis ${to} sein.`,
    badChoice: (name, choices) => `„${name}“ in der Adresse dieser Seite muss ${either(choices)} sein.`,
    badArgument: (name) => `„${name}“ in der Adresse dieser Seite kann nicht stimmen.`,
    without: 'Die Seite ohne diese Angabe',
    syncing: 'Der Index ist noch nicht vollständig',
    syncingText: (indexed, node) =>
      `Was Sie suchen, kann in einem Block stehen, der noch nicht indiziert ist: der Index ist bei Block ${indexed}, der Knoten bei ${node}. Diese Seite versucht es von selbst noch einmal.`,
    database: 'Die Datenbank ist nicht erreichbar',
    databaseText:
      'Nichts geht verloren, und alles läuft von selbst weiter, wenn sie wieder da ist. Diese Seite versucht es alle paar Sekunden.',
    starting: 'Der Explorer startet',
    startingText: 'Er liest seinen Zustand. Diese Seite versucht es alle paar Sekunden.',
    overloaded: 'Im Moment zu viele Anfragen',
    overloadedText:
      'Der Explorer beantwortet so viele Anfragen, wie er kann. Diese Seite versucht es gleich wieder.',
    limited: 'Zu viele Anfragen von Ihrer Adresse',
    limitedText: (seconds) =>
      `Warten Sie ${n(seconds, 'Sekunde', 'Sekunden')}. Dann versucht es diese Seite von selbst.`,
    defect: 'Das hätte nicht geschehen dürfen',
    defectText:
      'Der Explorer konnte diese Seite nicht erstellen. Der Betreiber findet den Grund im Protokoll.',
    back: 'Zum Überblick',
  },
}
