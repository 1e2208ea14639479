package io.holdfast.gates;

/** Names that no public type may have, for the test that they are found. */
public final class PlantedNames {

    public static final int REF_COUNT = 1;
    public static final int REFERENCE_IS_FINE = 1;

    public boolean isExpired() {
        return unrefIsHidden() > 0;
    }

    public void runGc() {}

    public String ownerOfIt() {
        return "";
    }

    private static int unrefIsHidden() {
        return 1;
    }

    static final class Hidden {
        public void purge() {}
    }
}
