/**
 * The second baseline: the same operations, written as in the documentation of Nest, TypeORM and the throttler.
 *
 * - Entities and repositories, and DTOs with the global ValidationPipe.
 * - A guard that looks the key up, and ThrottlerGuard with two named throttlers and its own store.
 *
 * It has three advantages: Fastify, no request log, and paging after an id instead of OFFSET.
 */
import 'reflect-metadata';
import { createHash } from 'node:crypto';
import {
  Body,
  type CanActivate,
  ClassSerializerInterceptor,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  UnauthorizedException,
  ValidationPipe,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Transform, Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { Column, Entity, JoinColumn, ManyToOne, MoreThan, PrimaryGeneratedColumn, Repository } from 'typeorm';

const STATUSES = ['available', 'pending', 'sold'];
const number = { from: Number, to: (value: number) => value };

@Entity('pets')
class Pet {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: number;
  @Column({ type: 'text' })
  name!: string;
  @Column({ type: 'bigint', name: 'category_id', transformer: number })
  categoryId!: number;
  @Column({ type: 'text' })
  status!: string;
}

@Entity('accounts')
class Account {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;
  @Column({ type: 'integer', name: 'per_minute' })
  perMinute!: number;
  @Column({ type: 'integer', name: 'per_day' })
  perDay!: number;
}

@Entity('api_keys')
class ApiKey {
  @PrimaryGeneratedColumn('uuid')
  id!: string;
  @Column({ type: 'bytea', name: 'secret_hash' })
  secretHash!: Buffer;
  @ManyToOne(() => Account)
  @JoinColumn({ name: 'account_id' })
  account!: Account;
}

class CreatePetDto {
  @IsString()
  @Length(1, 255)
  name!: string;
  @IsInt()
  categoryId!: number;
  @IsOptional()
  @IsIn(STATUSES)
  status = 'available';
}

class ListPetsDto {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 20;
  @IsOptional()
  @IsIn(STATUSES)
  status?: string;
  @IsOptional()
  @Transform(({ value }) => Number(Buffer.from(String(value), 'base64url').toString().split('@')[0]))
  @IsInt()
  cursor = 0;
}

interface Incoming {
  readonly headers: Readonly<Record<string, string | undefined>>;
  account: Account;
}

@Injectable()
class KeyGuard implements CanActivate {
  constructor(@InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Incoming>();
    const [type, secret = ''] = request.headers['authorization']?.split(' ') ?? [];
    const secretHash = createHash('sha256').update(secret).digest();
    const key =
      type === 'Bearer'
        ? await this.keys.findOne({ where: { secretHash }, relations: { account: true } })
        : null;
    if (!key) throw new UnauthorizedException();
    request.account = key.account;
    return true;
  }
}

@Injectable()
class AccountThrottlerGuard extends ThrottlerGuard {
  protected override getTracker(request: Incoming): Promise<string> {
    return Promise.resolve(request.account.id);
  }
}

@Injectable()
class PetsService {
  constructor(@InjectRepository(Pet) private readonly pets: Repository<Pet>) {}

  list({ limit, status, cursor }: ListPetsDto): Promise<Pet[]> {
    const where = { id: MoreThan(cursor), ...(status === undefined ? {} : { status }) };
    return this.pets.find({ where, order: { id: 'ASC' }, take: limit });
  }

  async get(id: number): Promise<Pet> {
    const pet = await this.pets.findOneBy({ id });
    if (!pet) throw new NotFoundException();
    return pet;
  }

  create(pet: CreatePetDto): Promise<Pet> {
    return this.pets.save(this.pets.create(pet));
  }
}

@Controller('v1/pets')
class PetsController {
  constructor(private readonly pets: PetsService) {}

  @Get()
  list(@Query() query: ListPetsDto) {
    return this.pets.list(query);
  }

  @Get(':id')
  get(@Param('id', ParseIntPipe) id: number) {
    return this.pets.get(id);
  }

  @Post()
  create(@Body() pet: CreatePetDto) {
    return this.pets.create(pet);
  }
}

const limitOf = (which: 'perMinute' | 'perDay') => (context: ExecutionContext) =>
  context.switchToHttp().getRequest<Incoming>().account[which];

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env['DATABASE_URL'] ?? '',
      entities: [Pet, Account, ApiKey],
      poolSize: 10,
      installExtensions: false,
    }),
    TypeOrmModule.forFeature([Pet, ApiKey]),
    ThrottlerModule.forRoot([
      { name: 'minute', ttl: 60_000, limit: limitOf('perMinute') },
      { name: 'day', ttl: 86_400_000, limit: limitOf('perDay') },
    ]),
  ],
  controllers: [PetsController],
  providers: [
    PetsService,
    { provide: APP_GUARD, useClass: KeyGuard },
    { provide: APP_GUARD, useClass: AccountThrottlerGuard },
    { provide: APP_PIPE, useValue: new ValidationPipe({ whitelist: true, transform: true }) },
    { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
  ],
})
class TextbookModule {}

void NestFactory.create<NestFastifyApplication>(TextbookModule, new FastifyAdapter(), {
  logger: ['error', 'warn'],
}).then((app) => app.listen(Number(process.env['PORT']), '127.0.0.1'));

// exit() lets Node.js write a CPU profile.
process.once('SIGTERM', () => process.exit());
