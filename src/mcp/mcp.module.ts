import { Module } from '@nestjs/common';
import { RateLimitModule } from '../rate-limit';
import { McpController } from './mcp.controller';
import { McpService } from './mcp.service';

@Module({ imports: [RateLimitModule], controllers: [McpController], providers: [McpService] })
export class McpModule {}
