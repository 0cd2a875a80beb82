import { Injectable, type OnModuleInit } from '@nestjs/common';
import { OrderEvents } from 'animal-store';
import { AppointmentsRepository } from './appointments.repository';

/** Cancels the appointments of an animal in the transaction in which its order is delivered. */
@Injectable()
export class SoldAnimals implements OnModuleInit {
  constructor(
    private readonly orders: OrderEvents,
    private readonly appointments: AppointmentsRepository,
  ) {}

  onModuleInit(): void {
    this.orders.onMoved(async ({ order }, transaction) => {
      if (order.status === 'delivered') await this.appointments.cancelOf(order.petId, transaction);
    });
  }
}
