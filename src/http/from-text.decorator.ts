/** Makes the value of a query parameter from its text; what it cannot read it leaves, for the validator to refuse. */
type Reader = (text: unknown) => unknown;

const READERS = Symbol('readers of query parameters');

/** A field of a query that is no text: queries have nothing but text. */
export function FromText(read: Reader): PropertyDecorator {
  return (target, field) => {
    Reflect.defineMetadata(READERS, new Map([...readersOf(target), [String(field), read]]), target);
  };
}

/** The readers of a query class's fields, those that it inherits included. */
export function readersOf(prototype: object): ReadonlyMap<string, Reader> {
  const known: ReadonlyMap<string, Reader> | undefined = Reflect.getMetadata(READERS, prototype);
  return known ?? new Map<string, Reader>();
}
