type Spec = (name: string, spec: () => Promise<void>) => void;

/** `it` where the condition holds; else the spec is left out, and a line of the output says which and why. */
export function itWhen(condition: boolean, reason: string): Spec {
  if (condition) return (name, spec) => it(name, spec);
  return (name) => process.stderr.write(`left out: "${name}" (${reason})\n`);
}

/** `describe` where the condition holds; else all of its specs are left out, and one line of the output says so. */
export function describeWhen(condition: boolean, reason: string): (name: string, specs: () => void) => void {
  if (condition) return (name, specs) => describe(name, specs);
  return (name) => process.stderr.write(`left out: "${name}" (${reason})\n`);
}
