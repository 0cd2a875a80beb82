type Spec = (name: string, spec: () => Promise<void>) => void;

/** `it` where the condition holds; else the spec is left out, and a line of the output says which and why. */
export function itWhen(condition: boolean, reason: string): Spec {
  if (condition) return (name, spec) => it(name, spec);
  return (name) => process.stderr.write(`left out: "${name}" (${reason})\n`);
}
