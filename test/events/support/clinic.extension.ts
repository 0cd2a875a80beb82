import { Body, Controller, Module, Post } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import {
  CurrentPrincipal,
  Decimal,
  defineErrors,
  defineScopes,
  Events,
  type Extension,
  Idempotent,
  Int64,
  type Once,
  Operation,
  PetsModule,
  PetsService,
  type Principal,
  Sql,
  Text,
} from '../../../src';

const scopes = defineScopes('clinic', 'read', 'write');
const errors = defineErrors({
  clinic_closed: { status: 409, when: 'the clinic is closed', message: 'The clinic is closed.' },
});

@ApiSchema({ description: 'An animal to weigh.' })
export class NewWeighing {
  @Int64({ description: 'The animal.', example: 1 })
  readonly petId!: bigint;

  @Decimal({ min: 0, max: 999, description: 'Kilograms.', example: 4.5 })
  readonly weight!: number;

  @Text({ max: 20, optional: true, description: 'A remark.', example: 'calm' })
  readonly remark?: string;
}

@ApiSchema({ description: 'The weight of an animal.' })
class Weighing {
  @Int64({ description: 'The animal.', example: 1 })
  readonly id!: bigint;

  @Decimal({ min: 0, max: 999, description: 'Kilograms.', example: 4.5 })
  readonly weight!: number;

  @Text({ max: 20, optional: true, description: 'A remark.', example: 'calm' })
  readonly remark?: string;
}

/** Its data is the class of no operation. */
@ApiSchema({ description: 'A warning.' })
class Warning {
  @Text({ max: 20, description: 'The reason.', example: 'light' })
  readonly reason!: string;

  @Text({ max: 20, description: 'The account of the vet, as events of orders have one.', example: 'vet' })
  readonly account!: string;
}

@Controller('clinic/weighings')
class ClinicController {
  constructor(
    private readonly events: Events,
    private readonly pets: PetsService,
    private readonly sql: Sql,
  ) {}

  @Post()
  @Operation({
    id: 'createWeighing',
    summary: 'Weigh an animal',
    description: 'Weighs an animal.',
    scope: scopes.write,
    returns: [201, Weighing, 'The weight.'],
    rejects: [errors.clinic_closed],
  })
  create(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() { petId: id, weight, remark }: NewWeighing,
    @Idempotent() once: Once,
  ) {
    const row = { id, weight, ...(remark !== undefined && { remark }) };
    const work: Parameters<typeof once>[0] = (outer) =>
      this.sql.transaction(async (transaction) => {
        await this.pets.lock(id, transaction);
        await this.events.add('clinic.weighed', { ...row, internal: 'secret' }, accountId, transaction);
        if (weight < 1)
          await this.events.add('clinic.warned', { reason: 'light', account: 'vet' }, accountId, transaction);
        if (remark === 'closed') throw errors.clinic_closed();
        return row;
      }, outer);
    return once(work);
  }
}

@Module({ imports: [PetsModule], controllers: [ClinicController] })
class ClinicModule {}

/** Events of a team. */
export const clinic: Extension = {
  name: 'clinic',
  modules: [ClinicModule],
  scopes: Object.values(scopes),
  tags: { clinic: 'Weights.' },
  events: {
    'clinic.weighed': { data: Weighing, scope: scopes.read },
    'clinic.warned': { data: Warning, scope: scopes.read },
  },
};
