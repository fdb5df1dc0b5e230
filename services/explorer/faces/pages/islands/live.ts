import { Idiomorph } from 'idiomorph'
import { conditionChanged, showConnection } from './condition.js'
import { hold, startHolding } from './holding.js'
import { localise } from './times.js'

/** The shortest time between two requests of the page while the mempool changes. */
const PAUSE_MS = 3_000
/** The same for a page that costs as much as many others, see `liveForm`. */
const COSTLY_PAUSE_MS = 20_000
/** Blocks and reorganisations are shown at once, those that arrive together by one request. */
const BLOCK_PAUSE_MS = 50
/** The pause after a request that failed although the connection is open. */
const FAILURE_PAUSE_MS = 3_000
/** A page that shows the state of the index requests it again after this time without an event: nothing announces a standstill. */
const QUIET_MS = 15_000
const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 15_000
/** The time after which a task is interrupted. */
const TASK_MS = 10
/** The largest number of elements that are changed without an interruption. */
const MAX_AT_ONCE = 24

interface Message {
  readonly channel?: string
  readonly type?: string
  readonly seq?: number
  readonly data?: { readonly height?: number; readonly txid?: string }
}

/**
 * Keeps the page up to date. An event of the feed makes the client request the page again, from a state that has the event, and
 * change what differs. After a lost connection the feed continues where it stopped.
 */
export function keepLive(): void {
  const { channels, retry } = main().dataset
  if (retry !== undefined) retryAfter(Number(retry))
  if (channels === undefined) return
  startHolding()
  new Live(['blocks', 'reorgs', ...channels.split(' ').filter(Boolean)]).connect()
}

const main = (): HTMLElement => document.querySelector('main') as HTMLElement

/** Returns the form that requests the page again by POST; null for a page that its URL names. */
const liveForm = (): HTMLFormElement | null => document.querySelector('form.live')

class Live {
  readonly #channels: readonly string[]
  /** The number of the last received event of each channel; at first the number in the page's state. */
  readonly #seen = new Map<string, number>()
  #height = Number(main().dataset['height'])
  #retryMs = FIRST_RETRY_MS
  #text = ''
  #timer: number | undefined
  /** The time at which the timer ends. */
  #dueAt = 0
  #shownAt = Date.now()
  #isRequesting = false
  /** The content of the last document, as the server sent it. */
  #content: Element | undefined
  /** True if something has changed since the last request of the page. */
  #isOutdated = false

  constructor(channels: readonly string[]) {
    this.#channels = channels
    for (const part of (main().dataset['since'] ?? '').split(' ')) {
      const [channel = '', seq] = part.split(':')
      this.#seen.set(channel, Number(seq))
    }
    document.addEventListener('visibilitychange', () => {
      if (this.#isOutdated) this.#updateAfter(0)
    })
    if (channels.includes('stats'))
      setInterval(() => {
        if (Date.now() - this.#shownAt > QUIET_MS) this.#updateAfter(0)
      }, QUIET_MS)
  }

  connect(): void {
    const { protocol, host } = location
    const socket = new WebSocket(
      `${protocol === 'https:' ? 'wss' : 'ws'}://${host}${main().dataset['socket'] ?? ''}`,
    )
    socket.addEventListener('open', () => {
      // The page has no numbers of the other channels: the events that they sent before are unknown.
      if (this.#isOutdated || this.#channels.some((channel) => !this.#seen.has(channel))) this.#updateAfter(0)
      for (const channel of this.#channels) {
        const since = this.#seen.get(channel)
        socket.send(JSON.stringify({ type: 'subscribe', channel, ...(since === undefined ? {} : { since }) }))
      }
      this.#retryMs = FIRST_RETRY_MS
      showConnection('live')
    })
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data)) as Message))
    socket.addEventListener('close', () => {
      showConnection('lost')
      setTimeout(() => this.connect(), this.#retryMs * (0.5 + Math.random()))
      this.#retryMs = Math.min(MAX_RETRY_MS, this.#retryMs * 2)
    })
  }

  #receive({ channel, type, seq, data }: Message): void {
    if (channel === undefined || (seq === undefined && type !== 'resync')) return
    if (seq === undefined) this.#seen.delete(channel)
    else this.#seen.set(channel, seq)
    const { awaited } = main().dataset
    if (channel === 'mempool' && awaited !== undefined && awaited !== data?.txid) return
    if (channel === 'blocks' && data?.height !== undefined) this.#height = data.height
    const isBlock = channel === 'blocks' || channel === 'reorgs'
    if (isBlock) {
      conditionChanged()
      dispatchEvent(new CustomEvent('feed:block', { detail: this.#height }))
    }
    const pauseMs = liveForm() === null ? PAUSE_MS : COSTLY_PAUSE_MS
    this.#updateAfter(isBlock ? BLOCK_PAUSE_MS : Math.max(0, this.#shownAt + pauseMs - Date.now()))
  }

  /** Requests the page again after a pause, or as soon as it is visible. */
  #updateAfter(pauseMs: number): void {
    this.#isOutdated = true
    const dueAt = Date.now() + pauseMs
    if (this.#isRequesting || document.hidden || (this.#timer !== undefined && this.#dueAt <= dueAt)) return
    clearTimeout(this.#timer)
    this.#dueAt = dueAt
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#update()
    }, pauseMs)
  }

  async #update(): Promise<void> {
    this.#isRequesting = true
    this.#isOutdated = false
    const isDone = await this.#request().catch(() => undefined)
    this.#isRequesting = false
    this.#shownAt = Date.now()
    if (isDone === true && this.#isOutdated) this.#updateAfter(PAUSE_MS)
    if (isDone === false) this.#updateAfter(FAILURE_PAUSE_MS)
    // Without a connection, the next connection updates the page.
    if (isDone === undefined) this.#isOutdated = true
  }

  /** @returns false if the explorer could not answer. @throws an error of the network. */
  async #request(): Promise<boolean> {
    const headers = { accept: 'text/html', 'x-min-chain-height': String(Math.max(0, this.#height)) }
    const form = liveForm()
    const fields = [...new FormData(form ?? undefined)].filter(
      (field): field is [string, string] => typeof field[1] === 'string',
    )
    const body = form === null ? {} : { method: 'POST', body: new URLSearchParams(fields) }
    const response = await fetch(location.href, { headers, ...body })
    if (!response.ok && response.status !== 404) return false
    const text = await response.text()
    if (text !== this.#text) await this.#replace(text)
    this.#text = text
    return true
  }

  /** Changes what differs between the page and a newer document. */
  async #replace(text: string): Promise<void> {
    const beganAt = performance.now()
    const next = new DOMParser().parseFromString(text, 'text/html')
    const content = next.querySelector('main')
    if (content === null) return
    document.title = next.title
    const before = this.#content
    this.#content = content.cloneNode(true) as Element
    const sealed = newestBlock()
    await change(main(), content, { before, beganAt })
    if (sealed !== undefined && newestBlock() !== sealed) showSealed()
    dispatchEvent(new Event('page:updated'))
  }
}

/** Returns the key of the newest block that the page shows as a card. */
const newestBlock = (): string | undefined =>
  document.querySelector<HTMLElement>('.cube[data-key]')?.dataset['key']

/** Shows that the next block has become the newest one: styles move the cards to where they are now. */
function showSealed(): void {
  const list = document.querySelector('.cubes:has([data-key])')
  list?.classList.add('sealed')
  list?.addEventListener('animationend', () => list.classList.remove('sealed'), { once: true })
}

/** Opens the page again as soon as the explorer can make it, and not before: a reload would delete what the reader types. */
function retryAfter(seconds: number): void {
  setTimeout(() => {
    void better().then((isBetter) => {
      if (isBetter) location.replace(location.href)
      else retryAfter(seconds)
    })
  }, seconds * 1_000)
}

/** Returns whether the page would now be another than one that is to be requested again. */
async function better(): Promise<boolean> {
  if (document.hidden) return false
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    const next = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('main')
    return next !== null && next.dataset['retry'] === undefined
  } catch {
    return false
  }
}

interface Step {
  /** The element as the server sent it before; undefined if that is not known. */
  readonly before: Element | undefined
  /** The time at which the task began. */
  readonly beganAt: number
}

/**
 * Makes an element equal to a newer one. A large element is changed child by child, with pauses, as long as both have equal structure:
 * a long task would delay what the reader does.
 * @returns the time at which the current task began.
 */
async function change(element: Element, next: Element, { before, beganAt }: Step): Promise<number> {
  if (before?.isEqualNode(next) === true || element.matches(OWN) || hold(element, next, morph)) return beganAt
  let taskBeganAt = beganAt
  if (performance.now() - taskBeganAt > TASK_MS) {
    await new Promise((resolve) => setTimeout(resolve))
    taskBeganAt = performance.now()
  }
  if (next.getElementsByTagName('*').length <= MAX_AT_ONCE || !isAlike(element, next)) {
    morph(element, next)
    return taskBeganAt
  }
  for (const { name, value } of next.attributes)
    if (element.getAttribute(name) !== value) element.setAttribute(name, value)
  const [to, from] = [[...next.children], before === undefined ? [] : [...before.children]]
  for (const [at, child] of [...element.children].entries())
    taskBeganAt = await change(child, to[at] as Element, { before: from[at], beganAt: taskBeganAt })
  return taskBeganAt
}

/** Returns whether two elements have equal attributes and equal children, apart from values and content, and no text. */
function isAlike(one: Element, other: Element): boolean {
  const [ours, theirs] = [[...one.children], [...other.children]]
  return (
    ours.length === theirs.length &&
    one.attributes.length === other.attributes.length &&
    other.getAttributeNames().every((name) => one.hasAttribute(name)) &&
    ours.every((child, at) => child.tagName === theirs[at]?.tagName && child.id === theirs[at].id) &&
    !hasText(one) &&
    !hasText(other)
  )
}

const hasText = ({ childNodes }: Element): boolean =>
  [...childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim() !== '')

/** Results of forms change themselves. */
const OWN = 'output'

/** Makes an element equal to a newer one in one step. Details stay open. */
function morph(element: Element, next: Element): void {
  localise(next)
  void Idiomorph.morph(element, next, {
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed: (node: Node, newer: Node) =>
        !(node instanceof Element && node !== element && newer instanceof Element) ||
        !(node.matches(OWN) || hold(node, newer, morph)),
      beforeAttributeUpdated: (name: string, node: Element) =>
        !(name === 'open' && node.tagName === 'DETAILS') &&
        // The browser knows what its reader watches.
        !(name === 'aria-pressed' && node.matches('.watch')),
    },
  })
}
