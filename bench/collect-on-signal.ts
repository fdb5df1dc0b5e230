import { writeFileSync } from 'node:fs'

/**
 * Loaded before a program with `--expose-gc`: on SIGUSR2 the process collects its garbage and writes the bytes of its heap and its buffers
 * to the file of `COLLECTED_FILE`.
 */
process.on('SIGUSR2', () => {
  // Twice, because buffers are freed after their owners.
  for (let round = 0; round < 2; round++) gc?.()
  const { heapUsed, external } = process.memoryUsage()
  writeFileSync(process.env['COLLECTED_FILE'] ?? '', String(heapUsed + external))
})
