/** Checks types and lints, both with the same programs: ESLint's rules need the types that the compiler has just computed. */
import { ESLint } from 'eslint'
import ts from 'typescript'

const PROJECTS = ['tsconfig.json', 'services/explorer/faces/pages/islands/tsconfig.json']

const programs = PROJECTS.map((project) => {
  const fail = (diagnostic) => {
    throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'))
  }
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail }
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(project, {}, host)
  errors.forEach(fail)
  return ts.createProgram(fileNames, options)
})
const errors = programs.flatMap((program) => ts.getPreEmitDiagnostics(program))
process.stdout.write(ts.formatDiagnostics(errors, ts.createCompilerHost({})))

const parserOptions = { projectService: false, programs }
const eslint = new ESLint({ overrideConfig: { files: ['**/*.ts'], languageOptions: { parserOptions } } })
const results = await eslint.lintFiles(['.'])
const findings = results.some((file) => file.errorCount + file.warningCount > 0)
process.stdout.write(await (await eslint.loadFormatter('stylish')).format(results))
process.exit(errors.length > 0 || findings ? 1 : 0)
