/** The answer of the API about the status of a transaction. */
interface Status {
  readonly confirmed: boolean
  readonly block_height: number | null
}

/** Makes the button work by which the reader is notified of a confirmation, also in a tab that is in the background. */
export function startNotifying(): void {
  const button = document.querySelector<HTMLButtonElement>('button.notify')
  // Browsers have no notifications without TLS, and some have none at all.
  if (button === null || !('Notification' in window)) return
  button.hidden = false
  const { status = '', watching = '', denied = '', confirmed = '', gone = '' } = button.dataset
  button.addEventListener('click', () => {
    void Notification.requestPermission().then((permission) => {
      button.disabled = true
      button.textContent = permission === 'granted' ? watching : denied
      if (permission === 'granted') watch(status, { confirmed, gone })
    })
  })
}

/** Shows a notification at the first block after which a transaction has been confirmed, or has left the mempool without one. */
function watch(
  url: string,
  { confirmed, gone }: { readonly confirmed: string; readonly gone: string },
): void {
  const stopped = new AbortController()
  const look = async (height: number): Promise<void> => {
    const response = await fetch(url, { headers: { 'x-min-chain-height': String(height) } })
    const isGone = response.status === 404
    const status = response.ok ? ((await response.json()) as Status) : undefined
    if (stopped.signal.aborted || !(isGone || status?.confirmed === true)) return
    stopped.abort()
    const txid = url.split('/').at(-2) ?? ''
    new Notification(isGone ? gone : `${confirmed} ${String(status?.block_height ?? '')}`, {
      body: txid,
      tag: txid,
    })
  }
  addEventListener(
    'feed:block',
    (event) => {
      // A failed request is repeated at the next block.
      look((event as CustomEvent<number>).detail).catch(() => undefined)
    },
    { signal: stopped.signal },
  )
}
