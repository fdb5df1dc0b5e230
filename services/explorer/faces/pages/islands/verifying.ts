/** Makes the buttons work that verify a transaction in the browser; what they need is loaded when one is pressed. */
export function startVerifying(): void {
  for (const part of document.querySelectorAll<HTMLElement>('.verify')) {
    const button = part.querySelector('button')
    if (button === null) continue
    button.hidden = false
    button.addEventListener('click', () => {
      button.disabled = true
      void import('./verify.js')
        .then(({ verify }) => verify(part))
        .finally(() => {
          button.disabled = false
        })
    })
  }
}
