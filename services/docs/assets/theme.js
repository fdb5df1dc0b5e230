// Before anything is painted: what the reader chose here stands above what the system says.
const chosen = localStorage.getItem('theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
document.documentElement.classList.add('scripted')
