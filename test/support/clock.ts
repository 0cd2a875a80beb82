export { TestClock } from '../../src/testing/test-store';
