#!/usr/bin/env node
import '../config/node-version';
import 'reflect-metadata';
import { loadEnvFile } from '../config/config';
import { runCommand } from './program';

const FIRST_ARGUMENT = 2;

async function main(): Promise<void> {
  loadEnvFile();
  process.exitCode = await runCommand(process.argv.slice(FIRST_ARGUMENT));
}

void main();
