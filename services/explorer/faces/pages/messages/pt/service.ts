import type { service as english } from '../en/service.js'
import { either, n } from './grammar.js'

/** Words of the status, the API, search and errors, in Portuguese. */
export const service: typeof english = {
  status: {
    title: 'Estado',
    about: 'Se este explorador está em dia, e se seu índice é igual ao nó.',
    state: 'Índice',
    states: {
      live: 'Em dia',
      syncing: 'Atrás do nó',
      node_syncing: 'O nó baixa a cadeia',
      stalled: 'Parado',
    },
    headers: 'Cabeçalhos do nó',
    database: 'Banco de dados',
    databases: { connected: 'Conectado', disconnected: 'Inacessível' },
    tip: 'Altura indexada',
    node: 'Altura do nó',
    same: 'Mesmo último bloco que o nó',
    unknown: 'não se sabe agora',
    heartbeat: 'Último sinal de vida do nó',
    gaps: 'O que falta a esta versão do nó',
    audit: 'Verificação contínua',
    auditAt: 'Última verificação',
    checks: 'Verificações',
    differences: 'Diferenças',
    noAudit: 'Nenhuma verificação foi feita ainda.',
    lags: 'Eventos à espera de processamento',
    consumer: 'Consumidor',
    topic: 'Tópico',
    lag: 'À espera',
    clients: 'Clientes conectados',
    ports: 'Outras portas',
    error: 'Erro',
  },
  api: {
    title: 'API',
    about: 'Todos os números destas páginas vêm desta API. Cada endpoint pode ser testado aqui.',
    try: 'Testar',
    body: 'Corpo, JSON',
    answer: 'Resposta',
    required: 'obrigatório',
    byDefault: (value) => `por padrão ${value}`,
    field: 'Campo',
    meaning: 'Significado',
    graphiql: 'consultas de muitos objetos de uma vez, para testar no navegador',
    port: (port) => `Porta ${port}`,
    more: 'A documentação descreve a API, o feed por WebSocket e o gRPC.',
  },
  search: {
    title: 'Busca',
    examples:
      'É possível buscar a altura de um bloco, o hash de um bloco ou de uma transação, um endereço, uma chave pública, um script ou seu hash, uma data ou um horário (UTC), um pool de mineração ou uma etiqueta.',
    height: (height) => `Bloco ${height}`,
    firstFrom: (time) => `Primeiro bloco a partir de ${time}`,
    later: (time) => `Ainda não há nenhum bloco a partir de ${time}.`,
    wallet:
      'Isto pode ser uma chave, um descritor ou as palavras de recuperação de uma carteira, que não devem fazer parte de nenhuma URL: a busca não foi feita. A página “Carteira” aceita chaves públicas estendidas e descritores. Chaves privadas e palavras de recuperação nunca devem ser digitadas em lugar nenhum.',
    future: (height, tip) => `O bloco ${height} ainda não existe. O último é o ${tip}.`,
    hashLength: (length) => `Um hash tem 64 caracteres; este texto tem ${length}.`,
    hashUnknown:
      'Nenhum bloco, nenhuma transação e nenhum script tem este hash. Uma transação recém-enviada aparece depois de alguns segundos.',
    notHex: (sign) => `Tem o comprimento de um hash, mas “${sign}” não é um dígito hexadecimal (0–9, a–f).`,
    keyUnknown: 'É uma chave pública, mas nem ela nem nenhum de seus endereços apareceu na cadeia.',
    scriptUnknown:
      'Nada tem este valor hexadecimal: um hash tem 64 dígitos, e nenhuma saída tem um script com estes bytes.',
    addressUnknown: 'É um endereço válido, mas nunca apareceu na cadeia.',
    checksum:
      'Parece um endereço, mas a soma de verificação está errada. Provavelmente há um caractere trocado ou faltando.',
    otherChain: (others, own, beginnings) =>
      `É um endereço de ${either(others)}. Este explorador mostra ${own}, cujos endereços começam com ${either(beginnings)}.`,
    unknownChain: (own, beginnings) =>
      `É um endereço de uma cadeia que este explorador não conhece. Ele mostra ${own}, cujos endereços começam com ${either(beginnings)}.`,
    incomplete: 'É o começo de um endereço: falta o resto.',
    unknown: (query) =>
      `“${query}” não é uma altura, um horário, um hash nem um endereço, nem parte do nome de um pool de mineração ou de uma etiqueta.`,
    negative: 'As alturas começam em 0.',
    tooLong: 'É longo demais: o texto mais longo que se pode buscar, um endereço, tem 90 caracteres.',
    unconfirmed: 'Transação não confirmada',
  },
  errors: {
    notFound: 'Não encontrado',
    noPage: 'Não há nenhuma página neste endereço.',
    noBlock: 'Este bloco não existe. Pode ser de outra cadeia ou ainda não ter sido minerado.',
    noTransaction:
      'Esta transação não existe. Se acabou de ser enviada, aparece aqui assim que o nó a tiver. Se foi substituída ou expirou há muito tempo, já não está mais disponível.',
    noLonger: 'Não está mais na mempool',
    left: {
      replaced: 'Outra transação substituiu esta. Ela saiu da mempool em {time}.',
      evicted: 'A mempool estava cheia, e esta transação pagava pouco demais. Ela saiu da mempool em {time}.',
      expired: 'Esta transação esperou demais por um bloco. Ela saiu da mempool em {time}.',
      unknown: 'Esta transação saiu da mempool por um motivo desconhecido em {time}.',
    },
    replacement: 'A transação que a substituiu',
    asItWas: 'A transação como era',
    noAddress: 'Este endereço ou script nunca recebeu nada.',
    invalid: 'Este endereço não pode estar certo',
    badNumber: (name, from, to) =>
      to === undefined
        ? `“${name}” no endereço desta página tem de ser um número inteiro a partir de ${from}.`
        : `“${name}” no endereço desta página tem de ser um número inteiro de ${from} a ${to}.`,
    badChoice: (name, choices) => `“${name}” no endereço desta página tem de ser ${either(choices)}.`,
    badArgument: (name) => `“${name}” no endereço desta página não pode estar certo.`,
    without: 'A página sem esse valor',
    syncing: 'O índice ainda não está completo',
    syncingText: (indexed, node) =>
      `Pode estar em um bloco que ainda não foi indexado: o índice está no bloco ${indexed}, o nó no ${node}. Esta página tenta de novo sozinha.`,
    database: 'O banco de dados está inacessível',
    databaseText:
      'Nada se perde, e tudo continua sozinho quando ele voltar. Esta página tenta de novo a cada poucos segundos.',
    starting: 'Iniciando',
    startingText: 'O explorador está lendo seu estado. Esta página tenta de novo a cada poucos segundos.',
    overloaded: 'Requisições demais neste momento',
    overloadedText:
      'O explorador responde a tantas requisições quanto pode. Esta página tenta de novo em instantes.',
    limited: 'Requisições demais deste endereço IP',
    limitedText: (seconds) =>
      `É preciso esperar ${n(seconds, 'segundo', 'segundos')}. Depois, esta página tenta de novo sozinha.`,
    defect: 'Isto não deveria ter acontecido',
    defectText: 'O explorador não conseguiu criar esta página. O operador encontra o motivo no log.',
    back: 'Voltar à visão geral',
  },
}
