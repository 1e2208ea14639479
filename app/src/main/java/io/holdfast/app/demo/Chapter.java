package io.holdfast.app.demo;

/** One part of the demo. */
interface Chapter {

    String title();

    void tell(Stage stage) throws Exception;
}
