type Spec = (name: string, spec: () => Promise<void>) => void;

/** Returns `it` if the condition holds. Otherwise the spec is skipped, and one line of output gives the reason. */
export function itWhen(condition: boolean, reason: string): Spec {
  return (name, spec) => {
    if (!condition) printSkipped(name, reason);
    (condition ? it : it.skip)(name, spec);
  };
}

/** Returns `describe` if the condition holds. Otherwise its specs are skipped, and one line of output gives the reason. */
export function describeWhen(condition: boolean, reason: string): (name: string, specs: () => void) => void {
  return (name, specs) => {
    if (!condition) printSkipped(name, reason);
    (condition ? describe : describe.skip)(name, specs);
  };
}

/** Says that a spec, or a part of it, is skipped. */
function printSkipped(name: string, reason: string): void {
  process.stderr.write(`skipped: "${name}" (${reason})\n`);
}
