import type { addresses as english } from '../en/addresses.js'

/** Words of addresses, wallets and labels, in Spanish. */
export const addresses: typeof english = {
  address: {
    title: 'Dirección',
    csv: 'Todas las transacciones en una tabla, CSV',
    unused: 'Aquí todavía no se ha recibido nada. Esta página lo mostrará en cuanto ocurra.',
    balance: 'Saldo',
    received: 'Recibido',
    sent: 'Enviado',
    transactions: 'Transacciones',
    unspent: 'Salidas no gastadas',
    firstSeen: 'Vista por primera vez:',
    scriptType: 'Tipo de script',
    scriptHash: 'Hash del script',
    scriptHex: 'Script, hexadecimal',
    keys: 'Claves públicas',
    ofKey: 'Otros scripts de esta clave pública',
    other: 'Otra forma de escribirla',
    otherHint: 'Ambas formas designan la misma dirección.',
    history: 'Historial',
    utxos: 'Salidas no gastadas',
    balanceByBlock: 'Saldo por bloque',
    balanceOverTime: 'Saldo a lo largo del tiempo',
    qr: 'Código QR de la dirección',
    protected: 'Para gastar hace falta una firma Dilithium',
    change: 'Variación',
    noHistory: 'No hay transacciones.',
    noUtxos: 'No hay salidas no gastadas.',
    coinbase: (height: string) => `monedas nuevas, se pueden gastar desde el bloque ${height}`,
    label: 'Etiqueta',
  },
  exposure: {
    title: 'Ordenadores cuánticos',
    atRisk: 'En riesgo',
    shownBy: 'Mostrada por',
    shownScript: 'Tipo del script mostrado',
    input: (index) => `entrada ${index}`,
    output: (index) => `salida ${index}`,
    reasons: {
      script: 'El propio script contiene la clave pública, a la vista de todos.',
      spend: 'Un gasto ha mostrado la clave pública.',
      scriptSpent: 'Un gasto ha mostrado el script, con todas sus claves.',
      same_key: 'Una transacción de otro script de la misma clave ha mostrado la clave pública.',
      unconfirmed: 'Una transacción sin confirmar muestra la clave pública.',
      hash: 'La cadena solo muestra el hash de la clave pública.',
      scriptHash: 'La cadena solo muestra el hash de un script, no sus claves públicas.',
      dilithium:
        'Para gastar hace falta una firma Dilithium, que, hasta donde se sabe, los ordenadores cuánticos no pueden romper.',
      dilithiumSpends:
        'Cada gasto contenía una firma Dilithium, que, hasta donde se sabe, los ordenadores cuánticos no pueden romper.',
    },
    advice: {
      move: 'Un ordenador que calcule claves privadas a partir de las públicas podría llevarse estas monedas. Están más seguras en una dirección desde la que nunca se haya gastado.',
      moveToDilithium:
        'Un ordenador que calcule claves privadas a partir de las públicas podría llevarse estas monedas. Están seguras en una dirección Dilithium o P2MR.',
      empty: 'Ahora no hay monedas aquí; lo que se reciba a partir de ahora estará en riesgo.',
      unconfirmed: 'Cuando se confirme, seguirá en riesgo lo que quede aquí y lo que se reciba después.',
      hidden:
        'El primer gasto la muestra: conviene gastar todo de una vez y no volver a recibir aquí. Una clave conocida por otras vías, como una clave pública extendida, no es segura.',
      once: 'El primer gasto la muestra: conviene recibir aquí una sola vez.',
    },
  },
  wallet: {
    title: 'Cartera',
    about:
      'Saldo, historial y próximas direcciones sin usar de una clave pública extendida (xpub, ypub, zpub) o de un descriptor de salida.',
    privacy:
      'Quien tiene la clave ve la cartera entera. Se envía en el cuerpo de la petición, no forma parte de ninguna URL y no se guarda en ningún sitio. No se debe introducir nunca una clave privada ni las palabras semilla.',
    key: 'Clave pública extendida o descriptor de salida',
    type: 'Tipo de los scripts',
    anyType: 'todos los usados',
    gap: 'Límite de direcciones vacías (gap limit)',
    show: 'Mostrar',
    refresh: 'Actualizar',
    used: 'Direcciones usadas',
    next: 'Próximas direcciones sin usar',
    receive: 'recepción',
    change: 'cambio',
    branch: 'Rama',
    index: 'Índice',
    incomplete: 'Hay más direcciones de las que se derivan: las cifras no están completas.',
    tooMany: 'Las direcciones tienen demasiadas transacciones para mostrarlas aquí.',
    first: (shown: string, total: string) =>
      `Las ${shown} más recientes de ${total}; la API las tiene todas.`,
  },
  labels: {
    title: 'Etiquetas',
    about: 'Direcciones cuyo dueño se conoce, según los registros del operador de este explorador.',
    none: 'El operador no ha registrado ninguna etiqueta.',
    link: 'Sitio web',
  },
}
