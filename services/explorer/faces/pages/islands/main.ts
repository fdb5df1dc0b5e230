import { startSearchKeys, startTheme } from '../../../../design/assets/bar.js'
import { startSearch } from '../../../../design/assets/search.js'
import { startCharts } from './charts.js'
import { startCopying } from './copying.js'
import { keepLive } from './live.js'
import { startTrying } from './trying.js'
import { localise, startAges } from './times.js'

localise(document)
startAges()
startTheme()
startSearchKeys(startSearch(document.querySelector('dialog.search')))
startCopying()
startTrying()
startCharts()
keepLive()
