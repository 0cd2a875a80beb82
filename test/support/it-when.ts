/** `it` where the condition holds; else the spec is left out, and one line of the output says why. */
export function itWhen(
  condition: boolean,
  reason: string,
): jest.It | ((name: string, ...rest: unknown[]) => void) {
  if (condition) return it;
  return (name: string) => {
    process.stderr.write(`left out: "${name}" (${reason})\n`);
  };
}
