import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Links } from '../platform/http/links';
import { SparePartEntity } from './spare-part.entity';
import { SparePartsController } from './spare-parts.controller';
import { SparePartsRepository } from './spare-parts.repository';
import { SparePartsService } from './spare-parts.service';

@Module({
  imports: [TypeOrmModule.forFeature([SparePartEntity])],
  controllers: [SparePartsController],
  providers: [SparePartsRepository, SparePartsService, Links],
})
export class SparePartsModule {}
