package io.holdfast;

class InMemoryLedgerTest extends LedgerContract {
    @Override
    protected Ledger ledger(int capacity) {
        return Ledger.inMemory(capacity);
    }
}
