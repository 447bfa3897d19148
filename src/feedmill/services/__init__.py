"""What the appliance does: the services, which work on ports alone."""
