package io.holdfast.redis.aggregate;

import java.lang.reflect.Proxy;
import java.sql.Connection;

/** Always the same connection, which stays open. */
final class SameConnection extends DriverSource {

    private final Connection connection;

    SameConnection(Connection connection) {
        super("none");
        this.connection = connection;
    }

    @Override
    public Connection getConnection() {
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("close")) {
                        return null;
                    }
                    try {
                        return method.invoke(connection, arguments);
                    } catch (java.lang.reflect.InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
