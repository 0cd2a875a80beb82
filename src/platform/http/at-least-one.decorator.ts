import type { Type } from '@nestjs/common';

const CLASSES = new Set<Parameters<ClassDecorator>[0]>();

/** Requires at least one member of a DTO class whose members are all optional. */
export function AtLeastOne(): ClassDecorator {
  return (target) => {
    CLASSES.add(target);
  };
}

export function needsMember(type: Type): boolean {
  return CLASSES.has(type);
}

/** Lists the names of the classes that need a member, which are those of their schemas. */
export function classesWithMember(): readonly string[] {
  return [...CLASSES].map(({ name }) => name);
}
