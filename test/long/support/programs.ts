import { spawn } from 'node:child_process';
import { join } from 'node:path';

const TYPESCRIPT = join(__dirname, '..', '..', 'support', 'typescript.cjs');

/** Runs a program of this folder in its own process and parses the JSON that it prints. */
export function runProgram<Result>(name: string, ...args: (string | number)[]): Promise<Result> {
  const file = join(__dirname, `${name}.ts`);
  const child = spawn(process.execPath, ['-r', TYPESCRIPT, file, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as Result);
      else reject(new Error(`${name} ended with ${code}: ${output}`));
    });
  });
}

/** Returns the median of an odd number of figures. */
export function median(figures: readonly number[]): number {
  return figures.toSorted((one, other) => one - other)[Math.floor(figures.length / 2)]!;
}
