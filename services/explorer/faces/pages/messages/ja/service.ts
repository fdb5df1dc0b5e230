import type { service as english } from '../en/service.js'
import { either } from './grammar.js'

/** Words of the status, the API, search and errors, in Japanese. */
export const service: typeof english = {
  status: {
    title: 'ステータス',
    about: 'このエクスプローラーが最新であるか、インデックスがノードと一致しているか。',
    state: 'インデックス',
    states: {
      live: '最新',
      syncing: 'ノードより遅れています',
      node_syncing: 'ノードがチェーンをダウンロード中',
      stalled: '停止',
    },
    headers: 'ノードのヘッダー',
    database: 'データベース',
    databases: { connected: '接続済み', disconnected: '接続できません' },
    tip: 'インデックスの高さ',
    node: 'ノードの高さ',
    same: '最新ブロックがノードと同じ',
    unknown: '現在は不明',
    heartbeat: 'ノードからの最後のハートビート',
    gaps: 'このバージョンのノードにない機能',
    audit: '継続的な監査',
    auditAt: '最後の検査',
    checks: '検査項目',
    differences: '差異',
    noAudit: '検査はまだ実行されていません。',
    lags: '処理待ちのイベント',
    consumer: 'コンシューマー',
    topic: 'トピック',
    lag: '待機中',
    clients: '接続中のクライアント',
    ports: 'その他のポート',
    error: 'エラー',
  },
  api: {
    title: 'API',
    about: 'これらのページの数値はすべてこの API から取得しています。各エンドポイントをここで試せます。',
    try: '試す',
    body: '本文（JSON）',
    answer: '応答',
    required: '必須',
    byDefault: (value) => `既定値 ${value}`,
    field: 'フィールド',
    meaning: '意味',
    graphiql: '多数のオブジェクトを一度に問い合わせ、ブラウザーで試せます',
    port: (port) => `ポート ${port}`,
    more: 'API、WebSocket のフィード、gRPC についてはドキュメントをご覧ください。',
  },
  search: {
    title: '検索',
    examples:
      'ブロック高、ブロックまたはトランザクションのハッシュ、アドレス、公開鍵、スクリプトまたはそのハッシュ、日付または時刻（UTC）、マイニングプール、ラベルで検索できます。',
    height: (height) => `ブロック ${height}`,
    firstFrom: (time) => `${time} 以降の最初のブロック`,
    later: (time) => `${time} 以降のブロックはまだありません。`,
    wallet:
      'これはウォレットの鍵、ディスクリプタ、またはシードワードの可能性があります。これらは URL に含めてはならないため、検索しませんでした。「ウォレット」ページでは拡張公開鍵とディスクリプタを入力できます。秘密鍵やシードワードはどこにも入力しないでください。',
    future: (height, tip) => `ブロック ${height} はまだ存在しません。最新のブロックは ${tip} です。`,
    hashLength: (length) => `ハッシュは 64 文字ですが、これは ${length} 文字です。`,
    hashUnknown:
      'このハッシュを持つブロック、トランザクション、スクリプトはありません。送信されたばかりのトランザクションは数秒後に表示されます。',
    notHex: (sign) => `ハッシュの長さですが、「${sign}」は 16 進数の文字（0–9、a–f）ではありません。`,
    keyUnknown: 'これは公開鍵ですが、この鍵もそのアドレスもチェーンに現れたことがありません。',
    scriptUnknown:
      'この 16 進数の値に該当するものはありません。ハッシュは 64 桁で、このバイト列のスクリプトを持つアウトプットもありません。',
    addressUnknown: '有効なアドレスですが、チェーンに現れたことがありません。',
    checksum: 'アドレスのようですが、チェックサムが正しくありません。文字の誤りか抜けがあると思われます。',
    otherChain: (others, own, beginnings) =>
      `これは ${either(others)} のアドレスです。このエクスプローラーは ${own} を表示し、そのアドレスは ${either(beginnings)} で始まります。`,
    unknownChain: (own, beginnings) =>
      `これはこのエクスプローラーが対応していないチェーンのアドレスです。表示するのは ${own} で、そのアドレスは ${either(beginnings)} で始まります。`,
    incomplete: 'アドレスの先頭部分です。残りがありません。',
    unknown: (query) =>
      `「${query}」は、高さ、時刻、ハッシュ、アドレスのいずれでもなく、マイニングプールやラベルの名前の一部でもありません。`,
    negative: '高さは 0 から始まります。',
    tooLong: '長すぎます。検索できる最も長いもの（アドレス）は 90 文字です。',
    unconfirmed: '未承認トランザクション',
  },
  errors: {
    notFound: '見つかりません',
    noPage: 'この URL にページはありません。',
    noBlock: 'このブロックはありません。別のチェーンのものか、まだ採掘されていない可能性があります。',
    noTransaction:
      'このトランザクションはありません。送信されたばかりの場合は、ノードに届き次第ここに表示されます。かなり前に置き換えられたか期限切れになった場合は、残っていません。',
    noLonger: 'メモリプールにはもうありません',
    left: {
      replaced: '別のトランザクションに置き換えられました。メモリプールから出た時刻は {time} です。',
      evicted:
        'メモリプールが満杯で、このトランザクションの手数料が低すぎました。メモリプールから出た時刻は {time} です。',
      expired: 'ブロックに入らないまま期限切れになりました。メモリプールから出た時刻は {time} です。',
      unknown: '不明な理由でメモリプールから出ました。時刻は {time} です。',
    },
    replacement: '置き換えたトランザクション',
    asItWas: '元のトランザクション',
    noAddress: 'このアドレスまたはスクリプトは、何も受け取ったことがありません。',
    invalid: 'この URL は正しくありません',
    badNumber: (name, from, to) =>
      to === undefined
        ? `この URL の「${name}」は ${from} 以上の整数でなければなりません。`
        : `この URL の「${name}」は ${from} から ${to} までの整数でなければなりません。`,
    badChoice: (name, choices) =>
      `この URL の「${name}」は ${either(choices)} のいずれかでなければなりません。`,
    badArgument: (name) => `この URL の「${name}」は正しくありません。`,
    without: 'この値を除いたページ',
    syncing: 'インデックスはまだ完全ではありません',
    syncingText: (indexed, node) =>
      `まだインデックスされていないブロックにある可能性があります。インデックスはブロック ${indexed}、ノードはブロック ${node} です。このページは自動的に再試行します。`,
    database: 'データベースに接続できません',
    databaseText:
      '失われるものはなく、復旧すればすべて自動的に再開します。このページは数秒ごとに再試行します。',
    starting: '起動中',
    startingText: 'エクスプローラーが状態を読み込んでいます。このページは数秒ごとに再試行します。',
    overloaded: '現在リクエストが多すぎます',
    overloadedText:
      'エクスプローラーは可能な限り多くのリクエストに応答しています。このページはまもなく再試行します。',
    limited: 'お使いの IP アドレスからのリクエストが多すぎます',
    limitedText: (seconds) => `${seconds} 秒お待ちください。その後、このページは自動的に再試行します。`,
    defect: '予期しないエラーです',
    defectText: 'このページを作成できませんでした。原因は運営者がログで確認できます。',
    back: '概要へ戻る',
  },
}
