import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

const ENV = {
  object: 'process',
  property: 'env',
  message: 'Only services/config.ts reads the environment: declare a setting there.',
}

export default defineConfig(
  {
    ignores: [
      'dist/',
      'dist-client/',
      'node_modules/',
      'proto/gen/',
      'services/client/gen/',
      'coverage/',
      '.data/',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: 'error',
      'no-restricted-properties': ['error', ENV],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // Conflicts with noPropertyAccessFromIndexSignature of tsconfig, which requires brackets.
      '@typescript-eslint/dot-notation': 'off',
      // An interface may require a promise from a method that awaits nothing.
      '@typescript-eslint/require-await': 'off',
      // Does not see changes during an await or by a callback (`signal.aborted`).
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // `() => void send()` and `(row) => list.push(row)` are shorter than blocks and equally clear.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // Only a type alias has the index signature that declarations of columns and parameters need.
      '@typescript-eslint/consistent-type-definitions': 'off',
      // Conflicts with no-non-null-assertion.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
    },
  },
  { files: ['services/config.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    // Tests read answers untyped, as a client does, and may use environment variables.
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'no-restricted-properties': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/restrict-plus-operands': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
    },
  },
  {
    files: ['services/{design,docs}/assets/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          ...[
            'document',
            'window',
            'addEventListener',
            'location',
            'navigator',
            'localStorage',
            'matchMedia',
            'fetch',
          ],
          ...[
            'AbortController',
            'TextDecoder',
            'IntersectionObserver',
            'requestAnimationFrame',
            'clearTimeout',
          ],
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        URL: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        setTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
      },
    },
  },
)
