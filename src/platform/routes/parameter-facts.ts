import type { DefinedError } from '../errors/define-errors';

/** What the parameters of a handler add to its `@Operation`. */
export interface ParameterFacts {
  /** The errors of the parameters. */
  readonly rejects: readonly DefinedError[];
  /** The decorators of the handler. */
  readonly decorators: readonly MethodDecorator[];
}

const PARAMETERS = Symbol('parameters');

/** Adds facts to a handler. Decorators of parameters run from the last one to the first, before those of the method. */
export function addParameterFacts(target: object, key: string | symbol, facts: ParameterFacts): void {
  const { rejects, decorators } = parameterFactsOf(target, key);
  const merged: ParameterFacts = {
    rejects: [...facts.rejects, ...rejects],
    decorators: [...facts.decorators, ...decorators],
  };
  Reflect.defineMetadata(PARAMETERS, merged, target, key);
}

export function parameterFactsOf(target: object, key: string | symbol): ParameterFacts {
  return Reflect.getOwnMetadata(PARAMETERS, target, key) ?? { rejects: [], decorators: [] };
}
