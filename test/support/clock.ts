export { TestClock } from '../../src/testing/test-clock';
