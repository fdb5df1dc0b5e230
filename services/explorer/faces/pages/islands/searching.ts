import { isWalletText } from '../../../core/wallets/wallet-text.js'

/** An item of the search, as the service returns them. */
interface Item {
  readonly type: 'page' | 'note'
  readonly url: string
  readonly content: string
}

/** Returns what the search shows for a text of a wallet, which must not leave the browser; undefined for other texts. */
export function ownAnswer(query: string): readonly Item[] | undefined {
  const template = document.querySelector<HTMLTemplateElement>('template.of-wallet')
  if (template === null || !isWalletText(query)) return undefined
  const { url = '', name = '' } = template.dataset
  return [
    { type: 'page', url, content: name },
    { type: 'note', url: '', content: template.content.textContent },
  ]
}

/** Keeps the forms of the search, also those that appear later, from sending a text of a wallet, and explains why. */
export function startForms(): void {
  document.addEventListener('submit', (event) => {
    const form = (event.target as Element).closest('form.hero')
    if (form === null) return
    if (form.nextElementSibling?.matches('.kept') === true) form.nextElementSibling.remove()
    const answer = ownAnswer(form.querySelector<HTMLInputElement>('input[name=q]')?.value ?? '')
    if (answer === undefined) return
    event.preventDefault()
    const note = document.createElement('p')
    note.className = 'kept notice'
    note.setAttribute('role', 'alert')
    for (const { type, url, content } of answer.toReversed())
      note.append(
        type === 'note'
          ? `${content} `
          : Object.assign(document.createElement('a'), { href: url, textContent: content }),
      )
    form.after(note)
  })
}
