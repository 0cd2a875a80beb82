import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { PetStatus } from './pet-status';

/** An animal that the store has, sells or has sold. A change of it is an event. */
@Entity('pets')
export class PetEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  readonly id!: bigint;

  @Column({ type: 'text' })
  readonly name!: string;

  @Column({ type: 'bigint', name: 'category_id' })
  readonly categoryId!: bigint;

  @Column({ type: 'text' })
  readonly status!: PetStatus;
}
