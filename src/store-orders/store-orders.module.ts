import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountsModule } from '../accounts';
import { PetsModule } from '../pets';
import { OrderEvents } from './order-events';
import { OrderExpiry } from './order-expiry';
import { StoreOrderEntity } from './store-order.entity';
import { StoreOrdersController } from './store-orders.controller';
import { StoreOrdersRepository } from './store-orders.repository';
import { StoreOrdersService } from './store-orders.service';

@Module({
  imports: [TypeOrmModule.forFeature([StoreOrderEntity]), PetsModule, AccountsModule],
  controllers: [StoreOrdersController],
  providers: [StoreOrdersRepository, StoreOrdersService, OrderEvents, OrderExpiry],
  exports: [StoreOrdersService, OrderEvents],
})
export class StoreOrdersModule {}
