import { startSearchKeys, startTheme } from '../../../../design/assets/bar.js'
import { startSearch } from '../../../../design/assets/search.js'
import { startCharts } from './charts.js'
import { keepCondition } from './condition.js'
import { startCopying } from './copying.js'
import { keepLive } from './live.js'
import { ownAnswer, startForms } from './searching.js'
import { startKeys, startMenus } from './menus.js'
import { startNotifying } from './notifying.js'
import { startTrying } from './trying.js'
import { localise, startAges } from './times.js'
import { startUnits } from './stored/units.js'
import { startWatching } from './stored/watching.js'
import { startVerifying } from './verifying.js'

startUnits()
localise(document)
startAges()
// Pages for frames and walls have no bar.
if (document.querySelector('.bar') !== null) {
  startTheme()
  startSearchKeys(startSearch(document.querySelector('dialog.search'), ownAnswer))
}
startForms()
startCopying()
startMenus()
startKeys()
startTrying()
startVerifying()
startNotifying()
startCharts()
startWatching()
keepLive()
keepCondition()
