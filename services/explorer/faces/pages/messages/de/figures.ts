import type { figures as english } from '../en/figures.js'
import { n } from './grammar.js'

/** Words of mining, supply and post-quantum figures, in German. */
export const figures: typeof english = {
  mining: {
    title: 'Mining',
    about: 'Wer schürft, wie schwierig das ist und wie viel Rechenleistung das kostet.',
    pools: (blocks) => `Mining-Pools der letzten ${blocks} Blöcke`,
    hashrate: 'Rechenleistung',
    hashrateByDay: 'Rechenleistung je Tag',
    difficulty: 'Schwierigkeit',
    difficultyByBlock: 'Schwierigkeit je Block',
    difficultyByDay: 'Schwierigkeit je Tag',
    pool: 'Mining-Pool',
    ofBlocks: (blocks) => `über ${blocks} Blöcke`,
    nextChange: 'Nächste Änderung der Schwierigkeit',
    previousChange: 'Letzte Änderung der Schwierigkeit',
    inBlocks: (blocks) => `in ${n(blocks, 'Block', 'Blöcken')}`,
    eachBlock: 'ändert sich mit jedem Block',
    never: 'ändert sich nie',
  },
  supply: {
    title: 'Geldmenge und größte Guthaben',
    about: 'Alle Münzen, die es gibt, und die Adressen mit den größten Guthaben.',
    circulating: 'Umlaufende Münzen',
    maximum: 'Obergrenze',
    utxos: 'Nicht ausgegebene Ausgänge',
    addresses: 'Adressen mit Guthaben',
    richList: 'Adressen nach Guthaben',
    activity: 'Aktivität je Tag',
    newAddresses: 'Neue Adressen',
    activeAddresses: 'Aktive Adressen',
  },
  quantum: {
    title: 'Post-Quantum-Verbreitung',
    about:
      'Dilithium-Signaturen widerstehen Quantencomputern. So viele Transaktionen und Adressen benutzen sie.',
    transactions: 'Dilithium-Transaktionen',
    addresses: 'Dilithium-Adressen',
    of: (part, all) => `${part} von ${all}`,
    overTime: 'Verbreitung im Lauf der Zeit',
    percentTransactions: '% der Transaktionen',
    percentAddresses: '% der Adressen',
    exposure: 'Angreifbarkeit durch Quantencomputer',
    exposureAbout:
      'Ein Computer, der private Schlüssel aus öffentlichen berechnet, könnte offene Münzen nehmen: Ihr öffentlicher Schlüssel steht in der Kette, im Skript selbst (P2PK, bloßes Multisig, P2TR) oder weil von ihrer Adresse schon etwas ausgegeben wurde. Verborgene Münzen zeigen ihn erst beim Ausgeben. Geschützte brauchen eine Dilithium-Signatur. Anderswo bekannte Schlüssel zählen nicht.',
    exposureAboutPlain:
      'Ein Computer, der private Schlüssel aus öffentlichen berechnet, könnte offene Münzen nehmen: Ihr öffentlicher Schlüssel steht in der Kette, im Skript selbst (P2PK, bloßes Multisig, P2TR) oder weil von ihrer Adresse schon etwas ausgegeben wurde. Verborgene Münzen zeigen ihn erst beim Ausgeben. Anderswo bekannte Schlüssel zählen nicht.',
    exposureOverTime: 'Offene Münzen im Lauf der Zeit',
    percentExposed: '% aller Münzen',
    values: 'Wert nach Art des Skripts',
    outputs: 'Nicht ausgegebene Ausgänge',
    scriptType: 'Art des Skripts',
    bySpend: 'schon ausgegeben',
    protections: {
      protected: 'Geschützt',
      hidden: 'Bis zum Ausgeben verborgen',
      exposed: 'Offen',
      unknown: 'Nicht bekannt',
    },
    funded: 'Adressen mit Guthaben',
  },
}
