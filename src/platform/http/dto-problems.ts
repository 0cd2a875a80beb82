import { type ValidationError, validateSync } from 'class-validator';

/** Lists one problem for each field, because its validators often have the same message. */
export function problemsOf(dto: object, isTransformed: boolean): string[] {
  // Only a transformed object, or an object within it, can still have undeclared members.
  return sentencesOf(validateSync(dto, { whitelist: isTransformed }), '');
}

/** @param parent the path of the object with these errors, with a dot at its end */
function sentencesOf(errors: readonly ValidationError[], parent: string): string[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => [
    ...Object.values(constraints)
      .slice(0, 1)
      .map((sentence) => `${parent}${sentence}`),
    ...sentencesOf(children, `${parent}${property}.`),
  ]);
}
