/** Converts the text of a query parameter; returns invalid text unchanged, so that the validator rejects it. */
type Reader = (text: unknown) => unknown;

const READERS = Symbol('readers of query parameters');

/** Makes `StrictDtoPipe` convert the text of a query parameter before it validates the field. */
export function FromText(read: Reader): PropertyDecorator {
  return (target, field) => {
    Reflect.defineMetadata(READERS, new Map([...readersOf(target), [String(field), read]]), target);
  };
}

/** Returns the readers of a query class by field, with those of its base classes. */
export function readersOf(prototype: object): ReadonlyMap<string, Reader> {
  const known: ReadonlyMap<string, Reader> | undefined = Reflect.getMetadata(READERS, prototype);
  return known ?? new Map<string, Reader>();
}
