import type { Type } from '@nestjs/common';

const CLASSES = new Map<string, Type>();

/** Requires at least one member of a DTO class whose members are all optional. */
export function AtLeastOne(): ClassDecorator {
  return (target) => {
    // A decorated class.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    CLASSES.set(target.name, target as unknown as Type);
  };
}

export function needsMember(type: Type): boolean {
  return CLASSES.get(type.name) === type;
}

/** Lists the names of the classes that need a member, which are those of their schemas. */
export function classesWithMember(): readonly string[] {
  return [...CLASSES.keys()];
}
