import type { service as english } from '../en/service.js'
import { either, n } from './grammar.js'

/** Words of the status, the API, search and errors, in Spanish. */
export const service: typeof english = {
  status: {
    title: 'Estado',
    about: 'Si este explorador está al día y si su índice coincide con el nodo.',
    state: 'Índice',
    states: {
      live: 'Al día',
      syncing: 'Por detrás del nodo',
      node_syncing: 'El nodo descarga la cadena',
      stalled: 'Parado',
    },
    headers: 'Cabeceras del nodo',
    database: 'Base de datos',
    databases: { connected: 'Conectada', disconnected: 'Inaccesible' },
    tip: 'Altura indexada',
    node: 'Altura del nodo',
    same: 'Mismo último bloque que el nodo',
    unknown: 'ahora no se sabe',
    heartbeat: 'Última señal de vida del nodo',
    gaps: 'Lo que le falta a esta versión del nodo',
    audit: 'Comprobación continua',
    auditAt: 'Última comprobación',
    checks: 'Comprobaciones',
    differences: 'Diferencias',
    noAudit: 'Todavía no se ha hecho ninguna comprobación.',
    lags: 'Eventos pendientes de procesar',
    consumer: 'Consumidor',
    topic: 'Tema',
    lag: 'En espera',
    clients: 'Clientes conectados',
    ports: 'Otros puertos',
    error: 'Error',
  },
  api: {
    title: 'API',
    about: 'Todas las cifras de estas páginas vienen de esta API. Aquí se puede probar cada endpoint.',
    try: 'Probar',
    body: 'Cuerpo, JSON',
    answer: 'Respuesta',
    required: 'obligatorio',
    byDefault: (value) => `por defecto ${value}`,
    field: 'Campo',
    meaning: 'Significado',
    graphiql: 'consultas de muchos objetos a la vez, para probar en el navegador',
    port: (port) => `Puerto ${port}`,
    more: 'La documentación describe la API, el feed por WebSocket y gRPC.',
  },
  search: {
    title: 'Búsqueda',
    examples:
      'Se puede buscar la altura de un bloque, el hash de un bloque o de una transacción, una dirección, una clave pública, un script o su hash, una fecha u hora (UTC), un pool de minería o una etiqueta.',
    height: (height) => `Bloque ${height}`,
    firstFrom: (time) => `Primer bloque a partir de ${time}`,
    later: (time) => `Todavía no hay ningún bloque de ${time} o posterior.`,
    wallet:
      'Esto puede ser una clave, un descriptor o las palabras semilla de una cartera, que no deben formar parte de ninguna URL: no se ha buscado. La página «Cartera» acepta claves públicas extendidas y descriptores. Las claves privadas y las palabras semilla no se deben introducir nunca en ningún sitio.',
    future: (height, tip) => `El bloque ${height} todavía no existe. El último es el ${tip}.`,
    hashLength: (length) => `Un hash tiene 64 caracteres; este texto tiene ${length}.`,
    hashUnknown:
      'Ningún bloque, ninguna transacción y ningún script tiene este hash. Una transacción recién enviada aparece al cabo de unos segundos.',
    notHex: (sign) => `Tiene la longitud de un hash, pero «${sign}» no es un dígito hexadecimal (0–9, a–f).`,
    keyUnknown: 'Es una clave pública, pero en la cadena no aparecen ni ella ni ninguna de sus direcciones.',
    scriptUnknown:
      'Nada tiene este valor hexadecimal: un hash tiene 64 dígitos, y ninguna salida tiene un script con estos bytes.',
    addressUnknown: 'Es una dirección válida, pero nunca ha aparecido en la cadena.',
    checksum:
      'Parece una dirección, pero su suma de comprobación es incorrecta. Probablemente falta un carácter o hay uno equivocado.',
    otherChain: (others, own, beginnings) =>
      `Es una dirección de ${either(others)}. Este explorador muestra ${own}, cuyas direcciones empiezan por ${either(beginnings)}.`,
    unknownChain: (own, beginnings) =>
      `Es una dirección de una cadena que este explorador no conoce. Muestra ${own}, cuyas direcciones empiezan por ${either(beginnings)}.`,
    incomplete: 'Es el comienzo de una dirección: falta el resto.',
    unknown: (query) =>
      `«${query}» no es una altura, una hora, un hash ni una dirección, ni parte del nombre de un pool de minería o de una etiqueta.`,
    negative: 'Las alturas empiezan en 0.',
    tooLong: 'Es demasiado largo: lo más largo que se puede buscar, una dirección, tiene 90 caracteres.',
    unconfirmed: 'Transacción sin confirmar',
  },
  errors: {
    notFound: 'No encontrado',
    noPage: 'En esta dirección no hay ninguna página.',
    noBlock: 'Este bloque no existe. Puede ser de otra cadena o no haberse minado todavía.',
    noTransaction:
      'Esta transacción no existe. Si se acaba de enviar, aparecerá aquí en cuanto la tenga el nodo. Si se sustituyó o caducó hace mucho, ya no está.',
    noLonger: 'Ya no está en la mempool',
    left: {
      replaced: 'Otra transacción ha sustituido a esta. Salió de la mempool el {time}.',
      evicted:
        'La mempool estaba llena y esta transacción pagaba demasiado poco. Salió de la mempool el {time}.',
      expired: 'Esta transacción ha esperado demasiado a un bloque. Salió de la mempool el {time}.',
      unknown: 'Esta transacción salió de la mempool por un motivo desconocido el {time}.',
    },
    replacement: 'La transacción que la sustituyó',
    asItWas: 'La transacción tal como era',
    noAddress: 'Esta dirección o este script nunca ha recibido nada.',
    invalid: 'Esta dirección no puede ser correcta',
    badNumber: (name, from, to) =>
      to === undefined
        ? `«${name}» en la dirección de esta página tiene que ser un número entero a partir de ${from}.`
        : `«${name}» en la dirección de esta página tiene que ser un número entero de ${from} a ${to}.`,
    badChoice: (name, choices) =>
      `«${name}» en la dirección de esta página tiene que ser ${either(choices)}.`,
    badArgument: (name) => `«${name}» en la dirección de esta página no puede ser correcto.`,
    without: 'La página sin ese dato',
    syncing: 'El índice todavía no está completo',
    syncingText: (indexed, node) =>
      `Puede estar en un bloque que aún no se ha indexado: el índice va por el bloque ${indexed}, el nodo por el ${node}. Esta página lo intenta de nuevo por sí sola.`,
    database: 'No se puede acceder a la base de datos',
    databaseText:
      'No se pierde nada, y todo sigue por sí solo cuando vuelva. Esta página lo intenta de nuevo cada pocos segundos.',
    starting: 'Arrancando',
    startingText:
      'El explorador está leyendo su estado. Esta página lo intenta de nuevo cada pocos segundos.',
    overloaded: 'Demasiadas peticiones en este momento',
    overloadedText:
      'El explorador responde a tantas peticiones como puede. Esta página lo intenta de nuevo enseguida.',
    limited: 'Demasiadas peticiones desde esta dirección IP',
    limitedText: (seconds) =>
      `Hay que esperar ${n(seconds, 'segundo', 'segundos')}. Después, esta página lo intenta de nuevo por sí sola.`,
    defect: 'Esto no debería haber ocurrido',
    defectText:
      'El explorador no ha podido crear esta página. El operador encontrará la causa en el registro.',
    back: 'Volver al resumen',
  },
}
