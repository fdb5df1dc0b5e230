import type { addresses as english } from '../en/addresses.js'

/** Words of addresses, wallets and labels, in French. */
export const addresses: typeof english = {
  watch: {
    title: 'Liste de suivi',
    about:
      'Les adresses, transactions et blocs que vous suivez, et ce qui a changé depuis votre dernière visite.',
    privacy:
      'La liste n’est enregistrée que dans ce navigateur. Pour l’afficher, cette page l’envoie à l’explorateur, qui n’en conserve rien. Sans JavaScript, saisissez-la à chaque fois.',
    none: 'Rien n’est encore suivi. Appuyez sur «\u00a0Suivre\u00a0» sur la page d’une adresse, d’une transaction ou d’un bloc.',
    list: 'Liste',
    lines: 'Une adresse, une transaction ou le hash d’un bloc par ligne, puis une étiquette',
    show: 'Afficher',
    save: 'Enregistrer dans un fichier',
    watched: 'Élément',
    state: 'État',
    change: 'Depuis la dernière visite',
    changed: 'modifié',
    unknown: 'introuvable',
    watch: 'Suivre',
  },
  address: {
    title: 'Adresse',
    csv: 'Toutes les transactions en tableau, CSV',
    unused: 'Rien n’a encore été reçu ici. Cette page l’affichera dès que ce sera le cas.',
    balance: 'Solde',
    received: 'Reçu',
    sent: 'Envoyé',
    transactions: 'Transactions',
    unspent: 'Sorties non dépensées',
    firstSeen: 'Vue pour la première fois le',
    scriptType: 'Type de script',
    scriptHash: 'Hash du script',
    scriptHex: 'Script, hexadécimal',
    keys: 'Clés publiques',
    ofKey: 'Autres scripts de cette clé publique',
    other: 'Autre écriture',
    otherHint: 'Les deux écritures désignent la même adresse.',
    history: 'Historique',
    utxos: 'Sorties non dépensées',
    balanceByBlock: 'Solde par bloc',
    balanceOverTime: 'Évolution du solde',
    qr: 'Code QR de l’adresse',
    protected: 'Une dépense exige une signature Dilithium',
    change: 'Variation',
    noHistory: 'Aucune transaction.',
    noUtxos: 'Aucune sortie non dépensée.',
    coinbase: (height: string) => `nouvelles pièces, dépensables à partir du bloc ${height}`,
    label: 'Étiquette',
  },
  exposure: {
    title: 'Ordinateurs quantiques',
    atRisk: 'En danger',
    shownBy: 'Révélée par',
    shownScript: 'Type du script révélé',
    input: (index) => `entrée ${index}`,
    output: (index) => `sortie ${index}`,
    reasons: {
      script: 'Le script lui-même contient la clé publique, visible de tous.',
      spend: 'Une dépense a révélé la clé publique.',
      scriptSpent: 'Une dépense a révélé le script, avec toutes ses clés.',
      same_key: 'Une transaction d’un autre script de la même clé a révélé la clé publique.',
      unconfirmed: 'Une transaction non confirmée révèle la clé publique.',
      hash: 'La chaîne ne montre que le hash de la clé publique.',
      scriptHash: 'La chaîne ne montre que le hash d’un script, pas ses clés publiques.',
      dilithium:
        'Une dépense exige une signature Dilithium, que les ordinateurs quantiques, à notre connaissance, ne peuvent pas casser.',
      dilithiumSpends:
        'Chaque dépense contenait une signature Dilithium, que les ordinateurs quantiques, à notre connaissance, ne peuvent pas casser.',
    },
    advice: {
      move: 'Un ordinateur qui calcule les clés privées à partir des clés publiques pourrait prendre ces pièces. Elles sont plus en sécurité à une adresse qui n’a jamais servi à dépenser.',
      moveToDilithium:
        'Un ordinateur qui calcule les clés privées à partir des clés publiques pourrait prendre ces pièces. Elles sont en sécurité à une adresse Dilithium ou P2MR.',
      empty: 'Il n’y a pas de pièces ici pour l’instant\u202f; ce qui arrivera désormais sera en danger.',
      unconfirmed:
        'Une fois qu’elle sera confirmée, ce qui reste ici et ce qui arrivera ensuite restera en danger.',
      hidden:
        'La première dépense la révèle\u00a0: dépensez tout d’un coup, et ne recevez plus rien ici. Une clé connue par ailleurs, comme une clé publique étendue, n’est pas sûre.',
      once: 'La première dépense la révèle\u00a0: ne recevez ici qu’une seule fois.',
    },
  },
  wallet: {
    title: 'Portefeuille',
    about:
      'Solde, historique et prochaines adresses inutilisées d’une clé publique étendue (xpub, ypub, zpub) ou d’un descripteur de sortie.',
    privacy:
      'La clé donne à voir tout le portefeuille. Elle est envoyée dans le corps de la requête, ne figure dans aucune URL et n’est enregistrée nulle part. Ne saisissez jamais de clé privée ni de phrase de récupération.',
    key: 'Clé publique étendue ou descripteur de sortie',
    type: 'Type des scripts',
    anyType: 'tous ceux qui sont utilisés',
    gap: 'Limite d’adresses vides (gap limit)',
    show: 'Afficher',
    refresh: 'Actualiser',
    used: 'Adresses utilisées',
    next: 'Prochaines adresses inutilisées',
    receive: 'réception',
    change: 'monnaie rendue',
    branch: 'Branche',
    index: 'Indice',
    incomplete: 'Il y a plus d’adresses que celles qui sont dérivées\u00a0: les chiffres sont incomplets.',
    tooMany: 'Les adresses ont trop de transactions pour les afficher ici.',
    first: (shown: string, total: string) =>
      `Les ${shown} plus récentes sur ${total}\u202f; l’API les a toutes.`,
  },
  labels: {
    title: 'Étiquettes',
    about:
      'Adresses dont le propriétaire est connu, telles que l’exploitant de cet explorateur les a notées.',
    none: 'L’exploitant n’a enregistré aucune étiquette.',
    link: 'Site web',
  },
}
