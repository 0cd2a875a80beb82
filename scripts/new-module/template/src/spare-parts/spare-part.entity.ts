import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { int64Column } from '../platform/database/int64-column';

/** A spare part of the store. */
@Entity('spare_parts')
export class SparePartEntity {
  @PrimaryGeneratedColumn('identity', { ...int64Column, generatedIdentity: 'ALWAYS' })
  readonly id!: bigint;

  @Column({ type: 'text' })
  readonly name!: string;
}
