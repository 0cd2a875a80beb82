import { readFileSync } from 'node:fs';
import { dts } from 'rollup-plugin-dts';

/** Rolls the declarations of the compiler up: one file for each entry of `exports`, without what a team cannot name. */
const { exports } = JSON.parse(readFileSync('package.json', 'utf8'));

export default Object.values(exports).flatMap(({ types: file }) =>
  file ? [{ input: file.replace('dist', 'dist/types'), output: { file }, plugins: [dts()] }] : [],
);
