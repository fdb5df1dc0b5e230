// Runs before the first paint: the choice of the reader overrides the system's theme.
const chosen = localStorage.getItem('theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
document.documentElement.classList.add('scripted')
