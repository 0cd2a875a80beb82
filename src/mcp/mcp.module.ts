import { Module } from '@nestjs/common';
import { RateLimitModule } from '../rate-limit';
import { BodyCharges } from './body-charges';
import { McpController } from './mcp.controller';
import { McpService } from './mcp.service';

@Module({ imports: [RateLimitModule], controllers: [McpController], providers: [BodyCharges, McpService] })
export class McpModule {}
