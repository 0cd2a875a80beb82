import { EntitySchema, type EntitySchemaColumnOptions } from 'typeorm';
import type { Pet } from './pets.dto';

/** The columns of an animal by its members, in the order that statements and files have them. */
const COLUMNS: Readonly<Record<keyof Pet, EntitySchemaColumnOptions>> = {
  id: { type: 'bigint', primary: true, generated: true },
  name: { type: 'text' },
  categoryId: { type: 'bigint', name: 'category_id' },
  status: { type: 'text' },
};

/** An animal that the store has, sells or has sold. A change of it is an event. */
export const PetEntity = new EntitySchema<Pet>({ name: 'Pet', tableName: 'pets', columns: COLUMNS });

/** Each member of an animal with its column. */
export const PET_COLUMNS = Object.entries(COLUMNS).map(([member, { name = member, type }]) => ({
  member,
  name,
  type: String(type),
}));

/** A creation gives each but the id. */
export const NEW_PET_COLUMNS = PET_COLUMNS.filter(({ member }) => member !== 'id');
