import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Links } from '../platform/http/links';
import { PetsModule } from '../pets';
import { OrderEvents } from './order-events';
import { StoreOrderEntity } from './store-order.entity';
import { StoreOrdersController } from './store-orders.controller';
import { StoreOrdersRepository } from './store-orders.repository';
import { StoreOrdersService } from './store-orders.service';

@Module({
  imports: [TypeOrmModule.forFeature([StoreOrderEntity]), PetsModule],
  controllers: [StoreOrdersController],
  providers: [StoreOrdersRepository, StoreOrdersService, OrderEvents, Links],
  exports: [StoreOrdersService, OrderEvents],
})
export class StoreOrdersModule {}
