import type { service as english } from '../en/service.js'
import { either, n } from './grammar.js'

/** Words of the status, the API, search and errors, in French. */
export const service: typeof english = {
  status: {
    title: 'État',
    about: 'Si cet explorateur est à jour, et si son index est identique au nœud.',
    state: 'Index',
    states: {
      live: 'À jour',
      syncing: 'En retard sur le nœud',
      node_syncing: 'Le nœud télécharge la chaîne',
      stalled: 'Bloqué',
    },
    headers: 'En-têtes du nœud',
    database: 'Base de données',
    databases: { connected: 'Connectée', disconnected: 'Injoignable' },
    tip: 'Hauteur indexée',
    node: 'Hauteur du nœud',
    same: 'Même dernier bloc que le nœud',
    unknown: 'inconnu pour l’instant',
    heartbeat: 'Dernier signe de vie du nœud',
    gaps: 'Ce qui manque à cette version du nœud',
    audit: 'Vérification continue',
    auditAt: 'Dernière vérification',
    checks: 'Vérifications',
    differences: 'Différences',
    noAudit: 'Aucune vérification n’a encore eu lieu.',
    lags: 'Événements en attente de traitement',
    consumer: 'Consommateur',
    topic: 'Sujet',
    lag: 'En attente',
    clients: 'Clients connectés',
    ports: 'Autres ports',
    error: 'Erreur',
  },
  api: {
    title: 'API',
    about:
      'Tous les chiffres de ces pages viennent de cette API. Vous pouvez essayer ici chaque point d’accès.',
    try: 'Essayer',
    body: 'Corps, JSON',
    answer: 'Réponse',
    required: 'obligatoire',
    byDefault: (value) => `par défaut ${value}`,
    field: 'Champ',
    meaning: 'Signification',
    graphiql: 'requêtes sur de nombreux objets à la fois, à essayer dans le navigateur',
    port: (port) => `Port ${port}`,
    more: 'La documentation décrit l’API, le flux par WebSocket et gRPC.',
  },
  search: {
    title: 'Recherche',
    examples:
      'Vous pouvez rechercher la hauteur d’un bloc, le hash d’un bloc ou d’une transaction, une adresse, une clé publique, un script ou son hash, une date ou une heure (UTC), un pool de minage ou une étiquette.',
    height: (height) => `Bloc ${height}`,
    firstFrom: (time) => `Premier bloc à partir de ${time}`,
    later: (time) => `Il n’y a pas encore de bloc à partir de ${time}.`,
    wallet:
      'C’est peut-être une clé, un descripteur ou la phrase de récupération d’un portefeuille, qui ne doivent figurer dans aucune URL\u00a0: la recherche n’a pas été faite. La page «\u00a0Portefeuille\u00a0» accepte les clés publiques étendues et les descripteurs. Ne saisissez nulle part de clé privée ni de phrase de récupération.',
    future: (height, tip) => `Le bloc ${height} n’existe pas encore. Le dernier est le bloc ${tip}.`,
    hashLength: (length) => `Un hash a 64 caractères, ce texte en a ${length}.`,
    hashUnknown:
      'Aucun bloc, aucune transaction et aucun script n’a ce hash. Une transaction qui vient d’être envoyée apparaît au bout de quelques secondes.',
    notHex: (sign) =>
      `C’est la longueur d’un hash, mais «\u00a0${sign}\u00a0» n’est pas un chiffre hexadécimal (0–9, a–f).`,
    keyUnknown: 'C’est une clé publique, mais ni elle ni aucune de ses adresses n’apparaît dans la chaîne.',
    scriptUnknown:
      'Rien n’a cette valeur hexadécimale\u00a0: un hash a 64 chiffres, et aucune sortie n’a un script de ces octets.',
    addressUnknown: 'C’est une adresse valide, mais elle n’est jamais apparue dans la chaîne.',
    checksum:
      'Cela ressemble à une adresse, mais la somme de contrôle est fausse. Un caractère est sans doute erroné ou manquant.',
    otherChain: (others, own, beginnings) =>
      `C’est une adresse de ${either(others)}. Cet explorateur montre ${own}, dont les adresses commencent par ${either(beginnings)}.`,
    unknownChain: (own, beginnings) =>
      `C’est une adresse d’une chaîne que cet explorateur ne connaît pas. Il montre ${own}, dont les adresses commencent par ${either(beginnings)}.`,
    incomplete: 'C’est le début d’une adresse\u00a0: il manque le reste.',
    unknown: (query) =>
      `«\u00a0${query}\u00a0» n’est ni une hauteur, ni une heure, ni un hash, ni une adresse, ni une partie du nom d’un pool de minage ou d’une étiquette.`,
    negative: 'Les hauteurs commencent à 0.',
    tooLong:
      'C’est trop long\u00a0: une adresse, ce qu’il y a de plus long à rechercher, a 90 caractères au plus.',
    unconfirmed: 'Transaction non confirmée',
  },
  errors: {
    notFound: 'Introuvable',
    noPage: 'Il n’y a pas de page à cette adresse.',
    noBlock: 'Ce bloc n’existe pas. Il appartient peut-être à une autre chaîne, ou n’est pas encore miné.',
    noTransaction:
      'Cette transaction n’existe pas. Si elle vient d’être envoyée, elle apparaîtra ici dès que le nœud l’aura. Si elle a été remplacée ou a expiré depuis longtemps, elle a disparu.',
    noLonger: 'N’est plus dans la mempool',
    left: {
      replaced: 'Une autre transaction a remplacé celle-ci. Elle a quitté la mempool le {time}.',
      evicted:
        'La mempool était pleine, et cette transaction payait trop peu. Elle a quitté la mempool le {time}.',
      expired: 'Cette transaction a attendu un bloc trop longtemps. Elle a quitté la mempool le {time}.',
      unknown: 'Cette transaction a quitté la mempool pour une raison inconnue le {time}.',
    },
    replacement: 'La transaction qui l’a remplacée',
    asItWas: 'La transaction telle qu’elle était',
    noAddress: 'Cette adresse ou ce script n’a jamais rien reçu.',
    invalid: 'Cette adresse ne peut pas être correcte',
    badNumber: (name, from, to) =>
      to === undefined
        ? `«\u00a0${name}\u00a0» dans l’adresse de cette page doit être un nombre entier à partir de ${from}.`
        : `«\u00a0${name}\u00a0» dans l’adresse de cette page doit être un nombre entier de ${from} à ${to}.`,
    badChoice: (name, choices) =>
      `«\u00a0${name}\u00a0» dans l’adresse de cette page doit être ${either(choices)}.`,
    badArgument: (name) => `«\u00a0${name}\u00a0» dans l’adresse de cette page ne peut pas être correct.`,
    without: 'La page sans cette valeur',
    syncing: 'L’index n’est pas encore complet',
    syncingText: (indexed, node) =>
      `Cela se trouve peut-être dans un bloc qui n’est pas encore indexé\u00a0: l’index en est au bloc ${indexed}, le nœud au bloc ${node}. Cette page réessaie d’elle-même.`,
    database: 'La base de données est injoignable',
    databaseText:
      'Rien n’est perdu, et tout reprend de soi-même à son retour. Cette page réessaie toutes les quelques secondes.',
    starting: 'Démarrage',
    startingText: 'L’explorateur lit son état. Cette page réessaie toutes les quelques secondes.',
    overloaded: 'Trop de requêtes en ce moment',
    overloadedText:
      'L’explorateur répond à autant de requêtes que possible. Cette page réessaie dans un instant.',
    limited: 'Trop de requêtes depuis votre adresse IP',
    limitedText: (seconds) =>
      `Attendez ${n(seconds, 'seconde', 'secondes')}. Cette page réessaie ensuite d’elle-même.`,
    defect: 'Cela n’aurait pas dû arriver',
    defectText:
      'L’explorateur n’a pas pu créer cette page. L’exploitant en trouvera la raison dans le journal.',
    back: 'Retour à l’aperçu',
  },
}
