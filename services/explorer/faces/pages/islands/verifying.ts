/** Makes the buttons work that verify a transaction in the browser; what they need is loaded when one is pressed. */
export function startVerifying(): void {
  for (const part of document.querySelectorAll<HTMLElement>('.verify')) {
    const [button, steps] = [part.querySelector('button'), part.querySelector('ol')]
    if (button === null || steps === null) continue
    button.hidden = false
    // Before the first run its steps could be taken for results.
    steps.hidden = true
    button.addEventListener('click', () => {
      steps.hidden = false
      button.disabled = true
      void import('./verify.js')
        .then(({ verify }) => verify(part))
        .finally(() => {
          button.disabled = false
        })
    })
  }
}
