// Lint rules: what the compiler can't say and STYLE.md asks for. Layout is prettier's business.
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'test/cases/**', 'test/fixtures/**', '.cache/**'] },
  ...tseslint.configs.recommended,
  {
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' }],
      '@typescript-eslint/no-unused-expressions': ['error', { allowShortCircuit: true, allowTernary: true, allowTaggedTemplates: true }],
      '@typescript-eslint/ban-ts-comment': ['error', { 'ts-expect-error': 'allow-with-description' }],
      'no-restricted-exports': [
        'error',
        { restrictDefaultExports: { direct: true, named: true, defaultFrom: true, namedFrom: true, namespaceFrom: true } },
      ],
      eqeqeq: 'error',
      'prefer-const': 'error',
    },
  },
  { files: ['eslint.config.js', 'scripts/**', 'test/**', 'examples/**', '**/*.d.ts'], rules: { 'no-restricted-exports': 'off' } },
  { files: ['test/**', 'scripts/**/*.mjs'], rules: { '@typescript-eslint/no-unused-expressions': 'off' } },
);
