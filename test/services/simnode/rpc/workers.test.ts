import { describe, expect, test } from 'vitest'
import { Workers } from '../../../../services/simnode/rpc/workers.js'

describe("the node's workers", () => {
  test('run four tasks at a time, let sixteen wait and refuse the others until there is room again', async () => {
    const workers = new Workers()
    const [begun, finish]: [number[], (() => void)[]] = [[], []]
    const refused: number[] = []
    const run = async (task: number): Promise<void> => {
      const done = await workers.run(() => {
        begun.push(task)
        return new Promise<true>((resolve) =>
          finish.push(() => {
            resolve(true)
          }),
        )
      })
      if (done === undefined) refused.push(task)
    }
    const tasks = Array.from({ length: 22 }, (_, task) => task)
    const runs = tasks.map(run)
    await Promise.all(runs.slice(20))
    expect(refused).toEqual([20, 21])
    expect(begun).toEqual([0, 1, 2, 3])
    finish[1]?.()
    await runs[1]
    expect(begun).toEqual([0, 1, 2, 3, 4])
    runs.push(run(22))
    for (let next = 0; next < 21; next++) {
      finish[next]?.()
      await runs[next < 20 ? next : 22]
    }
    await Promise.all(runs)
    expect(begun).toEqual([...tasks.slice(0, 20), 22])
    expect(refused).toEqual([20, 21])
  })
})
