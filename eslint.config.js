import tseslint from "typescript-eslint";

const clockRule = {
  "no-restricted-globals": ["error", "setTimeout", "setInterval"],
  "no-restricted-syntax": [
    "error",
    {
      selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
      message: "Take the time from the Clock port (src/runtime/clock.ts).",
    },
    {
      selector: "NewExpression[callee.name='Date'][arguments.length=0]",
      message: "Take the time from the Clock port (src/runtime/clock.ts).",
    },
    {
      selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
      message: "Take randomness from the Random port (src/runtime/clock.ts).",
    },
    {
      selector:
        "CallExpression[callee.property.name='catch'] > ArrowFunctionExpression[params.length=0]:matches([body.type='Identifier'][body.name='undefined'], [body.raw=/^(null|false)$/])",
      message: "Name what is meant (src/runtime/failures.ts).",
    },
  ],
};

export default tseslint.config(
  { ignores: ["dist/", "dist-modules/", "node_modules/", "bench/**/*.mjs", "coverage/"] },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      eqeqeq: "error",
    },
  },
  { files: ["src/**/*.ts"], ignores: ["src/runtime/**", "src/page/**"], rules: clockRule },
  {
    files: ["src/**/*.ts", "src/**/*.tsx"],
    rules: { "max-lines-per-function": ["error", { max: 40 }] },
  },
  // A component is markup for the most part, a tag or an attribute a line.
  { files: ["src/page/*.tsx"], rules: { "max-lines-per-function": ["error", { max: 75 }] } },
);
